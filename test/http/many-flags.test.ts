import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.ts'
import { idFrom } from '../../src/commands/envelope.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { EventLog } from '../../src/events/log.ts'
import { openStores } from '../../src/app/stores.ts'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'

const FLAGS = 20_000
/** One more than there are. */
const settings = { 'quotas.flags_per_namespace': String(FLAGS + 1) }
const time = '2026-01-01T00:00:00.000Z'
const meta = JSON.stringify({ schema: 1, command: 'Seed', actor: { kind: 'system' }, instance: 'seed' })
const event = (type: string, data: object) => ({ id: randomUUID(), type, time, data: JSON.stringify(data), meta })

/** Flags of a namespace, by the events that the service writes for them. `default` is there already. */
const seed = async (log: EventLog, key: string, count: number) => {
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
    const appended = made.map(({ flag, reservation }) => {
      const texts = { name: flag, description: '', enabled: true, type: 'boolean', metadata: {} }
      const data = { namespace: key, key: flag, incarnation, generation: 1, reservation, ...texts }
      return log.append(`flag-${key}+${flag}`, [event('FlagCreated', data)], 'none')
    })
    await Promise.all(appended)
  }
}

/** Milliseconds of CPU, of all threads. */
const cpuOf = async (work: () => Promise<unknown>) => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return Math.round((user + system) / 1000)
}

/** A service that was started before on flags of the namespaces, and what it costs to start it again. */
const startOn = async (t: Test, keys: readonly string[]) => {
  const first = await startService(t)
  await first.close()
  const { config } = loadConfig({ env: {}, flags: { 'storage.data_dir': join(first.directory, 'data') } })
  const store = await openStores(config, systemClock, { onError: (_, error) => t.fail(String(error)) })
  for (const key of keys) await seed(store.log, key, FLAGS / keys.length)
  await store.close()
  const { directory } = first
  await (await startService(t, settings, { directory })).close()
  let service = first
  const costs: number[] = []
  for (let n = 0; n < 2; n++) {
    await service.close()
    costs.push(await cpuOf(async () => (service = await startService(t, settings, { directory }))))
  }
  return { service, cpu: Math.min(...costs) }
}

await t.test(
  'twenty thousand flags cost as much in one namespace as in ten',
  { timeout: 300_000, ...(onCluster && { skip: 'seeds the embedded store' }) },
  async (t) => {
    const spread = await startOn(
      t,
      Array.from({ length: 10 }, (_, n) => `ns-${n}`),
    )
    await spread.service.close()
    const { service, cpu } = await startOn(t, ['default'])
    t.comment(`start: ${cpu} ms of CPU with ${FLAGS} flags in one namespace, ${spread.cpu} ms with them in ten`)
    t.ok(cpu <= 2 * spread.cpu, 'the start')

    const each: number[] = []
    for (let n = 0; n < 6; n++) {
      const body = { key: `segment-${n}`, name: 'Segment', matchType: 'ALL_MATCH_TYPE' }
      each.push(
        await cpuOf(async () =>
          t.equal((await service.request('POST', '/api/v1/namespaces/default/segments', body)).status, 200),
        ),
      )
    }
    t.comment(`a segment: ${each.join(', ')} ms of CPU, the first with nothing known of the namespace`)
    t.ok(Math.min(...each) <= 50, 'a segment')
    const flag = { key: 'one-more', name: 'One more', type: 'BOOLEAN_FLAG_TYPE' }
    const one = await cpuOf(async () =>
      t.equal((await service.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200),
    )
    t.comment(`a flag: ${one} ms of CPU`)
  },
)
