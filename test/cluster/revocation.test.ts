import t from 'tap'
import { startProxy } from '../stand-ins/proxy.ts'
import { startService, type Started } from '../start.ts'
import { startStack } from './stack.ts'

const REVOCATIONS = 2000
const AT_ONCE = 8
/** No revocation is begun later than this. */
const BUDGET_MS = 120_000
/** What is promised of every revocation, in milliseconds. */
const BOUND = 3000

const { stack, skip } = await startStack(t)
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
type Bearer = { readonly authorization: string }

const issue = async (service: Started) => {
  const { status, json } = await service.request<{ clientToken: string; authentication: { id: string } }>('POST', '/auth/v1/method/token', {
    name: 'n',
  })
  if (status !== 200) throw new Error(`no token: ${status}`)
  return { bearer: { authorization: `Bearer ${json.clientToken}` }, id: json.authentication.id }
}
const revoke = async (service: Started, id: string) => {
  const { status, text } = await service.request('DELETE', `/auth/v1/tokens/${id}`)
  if (status !== 200) throw new Error(`not revoked: ${status} ${text}`)
}
const self = async (service: Started, bearer: Bearer) => (await service.request('GET', '/auth/v1/self', undefined, bearer)).status
/** Whether the answer becomes this one in five seconds, and is never a 200 before when it is to be refused. */
const becomes = async (service: Started, bearer: Bearer, wanted: 200 | 401): Promise<boolean> => {
  for (const end = performance.now() + 5000; performance.now() < end; await sleep(20)) {
    const status = await self(service, bearer)
    if (status === wanted) return true
    if (wanted === 401 && status === 200) return false
  }
  return false
}
const at = (sorted: readonly number[], part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
const figures = (numbers: readonly number[]) => {
  const sorted = numbers.toSorted((one, other) => one - other)
  return `p50 ${at(sorted, 0.5).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms, max ${sorted.at(-1)!.toFixed(1)} ms`
}
/** Does the work so many times, a few at once. */
const many = async (count: number, work: (n: number) => Promise<void>) => {
  let begun = 0
  const end = performance.now() + BUDGET_MS
  const worker = async () => {
    while (begun++ < count && performance.now() < end) await work(begun)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

await t.test('between two instances', { skip }, async (t) => {
  const link = await startProxy(Number(new URL(stack!.settings['eventstore.url']!.replace('esdb:', 'http:')).port))
  t.teardown(link.close)
  const open = { 'rate_limit.enabled': 'false' }
  const a = await startService(t, { ...stack!.settings, ...open })
  const b = await startService(t, { ...stack!.settings, ...open, 'eventstore.url': `esdb://127.0.0.1:${link.port}?tls=false` })

  await t.test(
    `up to ${REVOCATIONS} tokens are usable elsewhere the moment they are shown, and refused there soon after they are revoked`,
    async (t) => {
      const [lags, uses, revoked]: [number[], number[], Bearer[]] = [[], [], []]
      let [unusable, stillUsable] = [0, 0]
      await many(REVOCATIONS, async () => {
        const { bearer, id } = await issue(a)
        if ((await self(a, bearer)) !== 200) unusable++
        const used = performance.now()
        if ((await self(b, bearer)) !== 200) unusable++
        uses.push(performance.now() - used)
        await revoke(a, id)
        const since = performance.now()
        if ((await self(a, bearer)) !== 401) stillUsable++
        while ((await self(b, bearer)) === 200 && performance.now() - since < BOUND) await sleep(4)
        lags.push(performance.now() - since)
        revoked.push(bearer)
      })
      t.equal(unusable, 0, 'a new token was refused')
      t.equal(stillUsable, 0, 'a revoked token worked where it was revoked')
      t.ok(lags.length >= 20, `${lags.length} revocations within the time`)
      await sleep(BOUND)
      let late = 0
      // Each is asked about again, and what both know is told without the views.
      for (const bearer of revoked) if ((await self(b, bearer)) !== 401) late++
      t.equal(late, 0, 'a revoked token worked later')
      t.ok(Math.max(...lags) < BOUND, 'the bound holds')
      t.comment(`first use elsewhere: ${figures(uses)}`)
      t.comment(`revocation elsewhere, ${lags.length} of them: ${figures(lags)}; 200s after 3 s: ${late}`)
    },
  )

  for (const mode of ['blackhole', 'reset'] as const)
    await t.test(`a revocation that the other cannot hear of (${mode}) is in force there within the bound`, async (t) => {
      const tokens = await Promise.all(Array.from({ length: 20 }, () => issue(a)))
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 200), 'known there')
      link.set(mode)
      const revoked = await Promise.all(
        tokens.map(async ({ bearer, id }) => {
          await revoke(a, id)
          return { bearer, since: performance.now() }
        }),
      )
      const last: number[] = []
      const seen = new Map<number, number>()
      for (const end = performance.now() + BOUND + 2000; performance.now() < end; await sleep(20)) {
        for (const { bearer, since } of revoked) {
          const asked = performance.now() - since
          const status = await self(b, bearer)
          seen.set(status, (seen.get(status) ?? 0) + 1)
          if (status === 200) last.push(asked)
        }
      }
      t.comment(`${mode}: answers ${JSON.stringify([...seen])}, the last 200 was asked for ${Math.max(0, ...last).toFixed(0)} ms after`)
      t.ok(Math.max(0, ...last) < BOUND, 'never a 200 later')
      t.ok((seen.get(503) ?? 0) > 0, 'then it says that it does not know')
      const back = performance.now()
      link.set('pass')
      while ((await self(b, tokens[0]!.bearer)) !== 401 && performance.now() - back < 15_000) await sleep(10)
      t.comment(`${mode}: back after ${(performance.now() - back).toFixed(0)} ms`)
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 401), 'and refused for good')
      const fresh = await issue(a)
      t.ok(await becomes(b, fresh.bearer, 200), 'and it works again')
    })
})
