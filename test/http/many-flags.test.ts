import t, { type Test } from 'tap'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { type Work, workOf } from '../work.ts'
import { onStoppedLog, seedFlags } from './seed-flags.ts'

const FLAGS = 20_000
/** Number of creations that are measured. */
const CREATIONS = 8
/** More than ten turns of the event loop without any work take. */
const IDLE_BLOCKS = 500
/** The number of flags, with those that are created. */
const settings = { 'quotas.flags_per_namespace': String(FLAGS + CREATIONS) }
/** Minimum cost, without occasional other work of the service. */
const least = (all: readonly Work[]): Work => ({
  blocks: Math.min(...all.map(({ blocks }) => blocks)),
  bytes: Math.min(...all.map(({ bytes }) => bytes)),
})
const shown = ({ blocks, bytes }: Work) => `${blocks} blocks, ${(bytes / 1e6).toFixed(1)} MB`

/** Waits until the service does nothing more of what was asked before. */
const idle = (clock: VirtualClock) =>
  eventually(async () => (await workOf(clock.settle)).blocks < IDLE_BLOCKS, 'an idle service')

/** Starts a service on namespaces with flags again; returns it with the cost of the start. */
const startOn = async (t: Test, clock: VirtualClock, keys: readonly string[]) => {
  const first = await startService(t)
  await first.close()
  await onStoppedLog(t, first, async (log) => {
    for (const key of keys) await seedFlags(log, key, FLAGS / keys.length)
  })
  const { directory } = first
  const start = () => startService(t, settings, { directory, clock })
  await (await start()).close()
  let service = first
  const costs: Work[] = []
  for (let n = 0; n < 2; n++) {
    await service.close()
    costs.push(await workOf(async () => (service = await start())))
  }
  return { service, cost: least(costs) }
}

await t.test(
  '20,000 flags cost the same in one namespace as in ten',
  { ...(onCluster && { skip: 'seeds the embedded store' }) },
  async (t) => {
    const clock = virtualClock()
    const spread = await startOn(
      t,
      clock,
      Array.from({ length: 10 }, (_, n) => `ns-${n}`),
    )
    await spread.service.close()
    const { service, cost } = await startOn(t, clock, ['default'])
    t.comment(`start: ${shown(cost)} with ${FLAGS} flags in one namespace, ${shown(spread.cost)} with them in ten`)
    t.ok(cost.blocks <= 1.2 * spread.cost.blocks, 'the start runs no more')
    t.ok(cost.bytes <= 1.2 * spread.cost.bytes, 'and makes no more')

    await service.request('POST', '/api/v1/namespaces', { key: 'small', name: 'Small' })
    /** Minimum costs of one more creation in a namespace with few flags, and in the one with many. */
    const one = async (what: string, body: object) => {
      const costs = { small: [] as Work[], default: [] as Work[] }
      for (let n = 0; n < CREATIONS; n++)
        for (const namespace of ['small', 'default'] as const) {
          const path = `/api/v1/namespaces/${namespace}/${what}`
          const made = { ...body, key: `${namespace}-${n}`, name: 'One more' }
          await idle(clock)
          const cost = await workOf(async () => t.equal((await service.request('POST', path, made)).status, 200))
          // The first creations load code and documents.
          if (n > 0) costs[namespace].push(cost)
        }
      return [least(costs.small), least(costs.default)] as const
    }
    for (const [what, body] of [
      ['segments', { matchType: 'ALL_MATCH_TYPE' }],
      ['flags', { type: 'BOOLEAN_FLAG_TYPE' }],
    ] as const) {
      const [few, many] = await one(what, body)
      t.comment(`one of the ${what}: ${shown(many)}; ${shown(few)} where there are few`)
      t.ok(many.blocks <= few.blocks + FLAGS / 2, `${what}: no flag is looked at`)
      t.ok(many.bytes <= few.bytes + 25 * FLAGS, `${what}: none is copied`)
    }
  },
)
