import t from 'tap'
import { authServicesOf } from '../../src/app/auth/auth-services.ts'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { mint } from '../../src/auth/client-token.ts'
import { Refusal } from '../../src/base/errors.ts'
import { loadConfig } from '../../src/config/load.ts'
import { erasureStore } from '../../src/projections/erasures.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { virtualClock } from '../virtual-clock.ts'

const { config } = loadConfig({ env: {} })
type Core = Parameters<typeof authServicesOf>[1]

/**
 * Token verification of an instance that no longer follows the log, or that is alone; `waits`: durations of its waits
 * for the log, memory and view.
 */
const entrance = async (alone: boolean) => {
  const clock = virtualClock()
  const waits: number[] = []
  let searches = 0
  const wait = <T>(withinMs: number, result: T): T => {
    waits.push(withinMs)
    return result
  }
  const core = {
    clock,
    faults: outageLog({ error: () => undefined, info: () => undefined }, clock),
    onError: () => () => undefined,
    stores: {
      views: { list: async () => (searches++, { rows: [], total: 0 }) },
      pepper: { kid: 'k1', key: new Uint8Array(32) },
      limiter: () => undefined,
    },
    time: { present: clock.now },
    index: tokenIndex(10),
    erasures: erasureStore(() => undefined),
    follower: {
      seen: async (_: bigint, withinMs: number) => wait(withinMs, false),
      viewsReached: async (_view: unknown, _: bigint, withinMs: number) => wait(withinMs, false),
    },
    ...(!alone && { lease: { newest: async (withinMs: number) => wait(withinMs, 7n) } }),
  } as unknown as Core
  const policy = {} as Parameters<typeof authServicesOf>[2]['policy']
  const { verifier } = await authServicesOf(config, core, { policy })
  return { verifier, waits, searches: () => searches }
}

await t.test('an instance waits for log, memory and view before it refuses an unknown token', async (t) => {
  const { verifier, waits, searches } = await entrance(false)
  await t.rejects(verifier.verify(mint('token')), new Refusal('auth_stale'))
  t.strictSame([waits, searches()], [[2_000, 250, 250, 0], 1])
  t.equal(await verifier.verify('mistyped '), undefined)
  t.equal(waits.length, 4, 'a text that cannot be a token waits for nothing')
})

await t.test('an instance with an embedded store refuses an unknown token at once', async (t) => {
  const { verifier, waits, searches } = await entrance(true)
  t.equal(await verifier.verify(mint('token')), undefined)
  t.strictSame([waits, searches()], [[], 0])
})
