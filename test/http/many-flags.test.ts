import t, { type Test } from 'tap'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { type Work, workOf } from '../work.ts'
import { onStoppedLog, seedFlags } from './seed-flags.ts'

const FLAGS = 20_000
/** Slightly more than the number of flags. */
const settings = { 'quotas.flags_per_namespace': String(FLAGS + 6) }
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
  await onStoppedLog(t, first, async (log) => {
    for (const key of keys) await seedFlags(log, key, FLAGS / keys.length)
  })
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
  { ...(onCluster && { skip: 'seeds the embedded store' }) },
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
