import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openStores } from '../../src/app/stores/stores.ts'
import { systemClock } from '../../src/base/clock.ts'
import { idFrom } from '../../src/commands/envelope.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { EventLog } from '../../src/events/log.ts'

const time = '2026-01-01T00:00:00.000Z'
const meta = JSON.stringify({ schema: 1, command: 'Seed', actor: { kind: 'system' }, instance: 'seed' })
const event = (type: string, data: object) => ({ id: randomUUID(), type, time, data: JSON.stringify(data), meta })

/** Fields of a seeded flag. */
type Fields = { readonly name?: string; readonly enabled?: boolean; readonly type?: 'boolean' | 'variant' }

/** Writes the flags of a namespace as events, which costs less than requests. `default` already exists. */
export const seedFlags = async (
  log: EventLog,
  key: string,
  count: number,
  fieldsOf: (n: number) => Fields = () => ({}),
): Promise<void> => {
  const incarnation = key === 'default' ? idFrom('rollcall', 'default') : `life-of-${key}`
  const created = { key, incarnation, name: key, description: '', protected: false }
  if (key !== 'default') await log.append(`namespace-${key}`, [event('NamespaceCreated', created)], 'none')
  for (let from = 0; from < count; from += 1000) {
    const made = Array.from({ length: Math.min(1000, count - from) }, (_, n) => ({
      flag: `flag-${from + n}`,
      reservation: randomUUID(),
    }))
    const reserved = made.map((one) => event('FlagRegistered', { key, ...one, reservedAt: time }))
    await log.append(`namespace-${key}`, reserved, BigInt(from))
    const appended = made.map(({ flag, reservation }, n) => {
      const fields = { name: flag, enabled: true, type: 'boolean', ...fieldsOf(from + n) }
      const data = { namespace: key, key: flag, incarnation, generation: 1, reservation, description: '', ...fields }
      return log.append(`flag-${key}+${flag}`, [event('FlagCreated', { ...data, metadata: {} })], 'none')
    })
    await Promise.all(appended)
  }
}

/** Calls `use` with the embedded log of a stopped service. */
export const onStoppedLog = async (
  t: Test,
  { directory }: { readonly directory: string },
  use: (log: EventLog) => Promise<unknown>,
): Promise<void> => {
  const { config } = loadConfig({ env: {}, flags: { 'storage.data_dir': join(directory, 'data') } })
  const store = await openStores(config, systemClock, { onError: (_, error) => t.fail(String(error)) })
  await use(store.log)
  await store.close()
}
