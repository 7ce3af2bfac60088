import t from 'tap'
import { authServicesOf } from '../../src/app/auth/auth-services.ts'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { mint } from '../../src/auth/client-token.ts'
import { loadConfig } from '../../src/config/load.ts'
import { erasureStore } from '../../src/projections/erasures.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { virtualClock } from '../virtual-clock.ts'

const { config } = loadConfig({ env: {} })
type Core = Parameters<typeof authServicesOf>[1]

/**
 * Token verification of an instance that no longer follows the log, or that is alone; `waits`: durations of its waits
 * for the log.
 */
const entrance = async (alone: boolean) => {
  const clock = virtualClock()
  const waits: number[] = []
  let searches = 0
  const caughtUp = async (withinMs: number) => {
    waits.push(withinMs)
    return false
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
    follower: {},
    ...(!alone && { lease: { caughtUp } }),
  } as unknown as Core
  const policy = {} as Parameters<typeof authServicesOf>[2]['policy']
  const { verifier } = await authServicesOf(config, core, { policy })
  return { verifier, waits, searches: () => searches }
}

await t.test('an instance waits 250 ms for the log before it searches for an unknown token', async (t) => {
  const { verifier, waits, searches } = await entrance(false)
  t.equal(await verifier.verify(mint('token')), undefined)
  t.strictSame([waits, searches()], [[250], 1])
  t.equal(await verifier.verify('mistyped '), undefined)
  t.strictSame([waits, searches()], [[250], 1], 'what can be no token waits for nothing')
})

await t.test('an instance with an embedded store refuses an unknown token at once', async (t) => {
  const { verifier, waits, searches } = await entrance(true)
  t.equal(await verifier.verify(mint('token')), undefined)
  t.strictSame([waits, searches()], [[], 0])
})
