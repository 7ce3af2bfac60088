import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { PAGE_MS, type Started } from '../start.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { walking } from '../walking-clock.ts'
import { BOUND, becomes, issue, revoke, revokedElsewhere, startTwo, staysRefused, use } from './revoking.ts'
import { startStack } from './stack.ts'

/** Validity of a proof of the head, and interval of its reads, in ms. */
const LEASE = 2_000
const EVERY = 500
const TOKENS = 20

/** Advances to a moment right after a proof; the other instance creates tokens until then. */
const provenNow = async (service: Started, clock: VirtualClock, other: Started): Promise<void> => {
  for (let rest = 0; ; ) {
    await clock.advance(PAGE_MS + rest)
    // The first use of a token reads the head like a proof.
    const { bearer } = await issue(other)
    await service.request('GET', '/auth/v1/self', undefined, bearer)
    const { text } = await service.request('GET', '/metrics')
    const age = Number(/^rollcall_freshness_age_seconds (\S+)$/m.exec(text)?.[1])
    if (age === 0) return
    rest = EVERY - (Math.round(age * 1_000) % EVERY)
  }
}

await t.test('new and revoked tokens take effect at once with a single server', (t) => revokedElsewhere(t, 1))

await t.test('a revocation takes effect in bounded time on an instance that is cut off from the log', async (t) => {
  const { stack, skip } = await startStack(t)
  if (!stack) return t.pass('needs servers', { skip })
  const { link, url } = await linkTo(t, stack.settings['eventstore.url']!)
  const { a, b, clocks } = await startTwo(t, stack, { url })
  for (const mode of ['blackhole', 'reset'] as const)
    await t.test(mode, async (t) => {
      const tokens = await Promise.all(Array.from({ length: TOKENS }, () => issue(a)))
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 200), 'known there')
      await provenNow(b, clocks.b, a)
      await link.set(mode)
      const since = clocks.b.monotonic()
      for (const { id } of tokens) await revoke(a, id)
      t.equal(clocks.b.monotonic(), since, 'no time has passed there')
      const statuses = async (at: number) => {
        const found = new Set<number>()
        await clocks.b.advance(since + at - TOKENS - clocks.b.monotonic())
        // Each request takes one millisecond, so the last is sent one before that moment.
        for (const { bearer } of tokens) found.add(await use(b, bearer))
        return [...found]
      }
      t.strictSame(await statuses(LEASE + 1), [200], 'as long as the proof is good')
      t.strictSame(await statuses(LEASE + 1 + TOKENS), [503], 'then it says that it does not know')
      for (let at = LEASE + 100; at <= BOUND + 2_000; at += 100)
        t.strictSame(await statuses(at), [503], `not known after ${at} ms`)
      await link.set('pass')
      await walking([clocks.b], async () => {
        for (const { bearer } of tokens) t.ok(await staysRefused(b, bearer), 'and refused for good')
        const fresh = await issue(a)
        t.ok(await becomes(b, fresh.bearer, 200), 'and it works again')
      })
    })
  return undefined
})
