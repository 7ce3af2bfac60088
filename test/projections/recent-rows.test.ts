import t from 'tap'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { memory, recentRows } from '../../src/projections/engine/memory.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const projection = anyProjection(tokens)
const row = (key: string): Row => ({ key, revision: 0n, position: 1n, changes: 1n, doc: {} })

await t.test('the rows of recently changed documents are bounded in number and size', (t) => {
  const rows = recentRows(10_000)
  for (const key of ['a', 'b', 'c']) rows.set(projection, key, row(key), 4_000)
  t.equal(rows.get(projection, 'a'), undefined)
  t.strictSame(rows.get(projection, 'c'), row('c'))
  for (let n = 0; n < 1_001; n++) rows.set(projection, `n${n}`, row('n'), 0)
  t.equal(rows.get(projection, 'c'), undefined)
  t.end()
})

await t.test('large documents that memory does not hold evict each other', async (t) => {
  const [clock, log] = [virtualClock(), memoryLog()]
  const { applied, newest } = memory({
    clock,
    log,
    projections: [projection],
    remember: () => undefined,
  })
  const { execute } = executor(log, enveloper(clear, 'test', clock.now), { clock })
  const issue = async (id: string) => {
    const attributes = { 'token.name': 'x'.repeat(4 * 1_048_576) }
    const data = {
      id,
      digest: id,
      method: 'token',
      issuedAt: clock.now().toISOString(),
      attributes,
      metadata: {},
    } as const
    await applied((await execute(token, id, 'IssueToken', data, { actor: { kind: 'system' } })).stored)
  }
  for (let n = 0; n < 10; n++) await issue(String(n))
  t.equal(newest(projection, 'token-0'), undefined)
  t.ok(newest(projection, 'token-9'))
})
