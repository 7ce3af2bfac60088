import t from 'tap'
import { tokensOf } from '../../src/app/features/tokens.ts'
import { mint } from '../../src/auth/client-token.ts'
import { Refusal } from '../../src/base/errors.ts'
import { loadConfig } from '../../src/config/load.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { virtualClock } from '../virtual-clock.ts'

const { config } = loadConfig({ env: {} })
type Core = Parameters<typeof tokensOf>[0]

/**
 * Token verification of an instance that no longer follows the log, or that is alone; `waits`: durations of its waits
 * for the log, memory and view.
 */
const entrance = (alone: boolean) => {
  const clock = virtualClock()
  const waits: number[] = []
  let searches = 0
  const wait = <T>(withinMs: number, result: T): T => {
    waits.push(withinMs)
    return result
  }
  const core = {
    config,
    settings: {},
    clock,
    alone,
    onError: () => () => undefined,
    views: { list: async () => (searches++, { rows: [], total: 0 }) },
    stores: {
      pepper: { kid: 'k1', key: new Uint8Array(32) },
      limiter: () => undefined,
    },
    now: clock.now,
    time: { steady: () => () => true },
    index: tokenIndex(10),
    seen: async (_: bigint, withinMs: number) => wait(withinMs, false),
    viewsReached: async (_view: unknown, _: bigint, withinMs: number) => wait(withinMs, false),
    ...(!alone && { lease: { newest: async (withinMs: number) => wait(withinMs, 7n) } }),
  } as unknown as Core
  const { verifier } = tokensOf(core).services
  return { verifier, waits, searches: () => searches }
}

await t.test('an instance waits for log, memory and view before it refuses an unknown token', async (t) => {
  const { verifier, waits, searches } = entrance(false)
  await t.rejects(verifier.verify(mint('token')), new Refusal('auth_stale'))
  t.strictSame([waits, searches()], [[2_000, 250, 250, 0], 1])
  t.equal(await verifier.verify('mistyped '), undefined)
  t.equal(waits.length, 4, 'a text that cannot be a token waits for nothing')
})

await t.test('an instance with an embedded store refuses an unknown token at once', async (t) => {
  const { verifier, waits, searches } = entrance(true)
  t.equal(await verifier.verify(mint('token')), undefined)
  t.strictSame([waits, searches()], [[], 0])
})
