import t from 'tap'
import { memoryWarnings } from '../../src/config/checks/rules.ts'
import { loadConfig } from '../../src/config/load.ts'

const MIB = 1_048_576
const { config } = loadConfig({ env: {} })
const told = (available: number, more: Partial<typeof config> = {}) =>
  memoryWarnings({ ...config, ...more }, available).flatMap(([key, why]) => (why === false ? [] : [`${key}: ${why}`]))

await t.test('the default settings fit into a heap of 512 MiB', async (t) => {
  t.strictSame(told(512 * MIB), [])
  t.strictSame(told(406 * MIB), [])
})

await t.test('settings that may need more memory than available cause a warning with both figures', async (t) => {
  for (const more of [
    { budgets: { answers: 200 * MIB, bodies: 64 * MIB } },
    { budgets: { answers: 64 * MIB, bodies: 200 * MIB } },
    { tokens: { ...config.tokens, index_size: 3_000_000 } },
  ]) {
    const [line, ...others] = told(512 * MIB, more)
    t.match(line, /^budgets: .* may need 5\d\d MiB, but the process has 512 MiB: lower these settings/)
    t.strictSame(others, [])
  }
  t.match(told(400 * MIB), [/need 406 MiB, .* has 400 MiB/])
})

await t.test('the configuration is compared with the memory limit of this process', async (t) => {
  const flags = { 'budgets.answers': String(2 ** 40) }
  const [line, ...others] = loadConfig({ env: {}, flags }).warnings
  t.match(line, /^budgets together .* may need 1048\d{3} MiB, but the process has \d+ MiB/)
  t.strictSame(others, [])
})
