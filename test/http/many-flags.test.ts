import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStores } from '../../src/app/stores/stores.ts'
import { systemClock } from '../../src/clock.ts'
import { idFrom } from '../../src/commands/envelope.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { EventLog } from '../../src/events/log.ts'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { type Work, workOf } from '../work.ts'

const FLAGS = 20_000
/** Slightly more than the number of flags. */
const settings = { 'quotas.flags_per_namespace': String(FLAGS + 6) }
const time = '2026-01-01T00:00:00.000Z'
const meta = JSON.stringify({ schema: 1, command: 'Seed', actor: { kind: 'system' }, instance: 'seed' })
const event = (type: string, data: object) => ({ id: randomUUID(), type, time, data: JSON.stringify(data), meta })

/** Writes the flags of a namespace as events. `default` already exists. */
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

/** Minimum cost, without occasional other work of the service. */
const least = (all: readonly Work[]): Work => ({
  blocks: Math.min(...all.map(({ blocks }) => blocks)),
  bytes: Math.min(...all.map(({ bytes }) => bytes)),
})
const shown = ({ blocks, bytes }: Work) => `${blocks} blocks, ${(bytes / 1e6).toFixed(1)} MB`

/** Starts a service on namespaces with flags again; returns it with the cost of the start. */
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
  const costs: Work[] = []
  for (let n = 0; n < 2; n++) {
    await service.close()
    costs.push(await workOf(async () => (service = await startService(t, settings, { directory }))))
  }
  return { service, cost: least(costs) }
}

await t.test(
  '20,000 flags cost the same in one namespace as in ten',
  { timeout: 300_000, ...(onCluster && { skip: 'seeds the embedded store' }) },
  async (t) => {
    const spread = await startOn(
      t,
      Array.from({ length: 10 }, (_, n) => `ns-${n}`),
    )
    await spread.service.close()
    const { service, cost } = await startOn(t, ['default'])
    t.comment(`start: ${shown(cost)} with ${FLAGS} flags in one namespace, ${shown(spread.cost)} with them in ten`)
    t.ok(cost.blocks <= 1.2 * spread.cost.blocks, 'the start runs no more')
    t.ok(cost.bytes <= 1.2 * spread.cost.bytes, 'and makes no more')

    await service.request('POST', '/api/v1/namespaces', { key: 'small', name: 'Small' })
    /** Minimum cost of one more creation in a known namespace. */
    const one = async (namespace: string, what: string, body: object) => {
      const costs: Work[] = []
      const path = `/api/v1/namespaces/${namespace}/${what}`
      for (let n = 0; n < 6; n++) {
        const made = { ...body, key: `${namespace}-${n}`, name: 'One more' }
        costs.push(await workOf(async () => t.equal((await service.request('POST', path, made)).status, 200)))
      }
      return least(costs.slice(1))
    }
    for (const [what, body] of [
      ['segments', { matchType: 'ALL_MATCH_TYPE' }],
      ['flags', { type: 'BOOLEAN_FLAG_TYPE' }],
    ] as const) {
      const [few, many] = [await one('small', what, body), await one('default', what, body)]
      t.comment(`one of the ${what}: ${shown(many)}; ${shown(few)} where there are few`)
      t.ok(many.blocks <= few.blocks + FLAGS / 2, `${what}: no flag is looked at`)
      t.ok(many.bytes <= few.bytes + 25 * FLAGS, `${what}: none is copied`)
    }
  },
)
