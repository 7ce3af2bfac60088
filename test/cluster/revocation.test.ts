import t, { type Test } from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { startService, type Started } from '../start.ts'
import { type Stack, startStack } from './stack.ts'

const REVOCATIONS = 2000
/** Each on servers of its own: the stand-in for MongoDB reads a collection row by row. */
const ROUNDS = 5
const AT_ONCE = 8
/** What is promised of every revocation, in milliseconds. */
const BOUND = 3000

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
type Bearer = { readonly authorization: string }

const issue = async (service: Started) => {
  const { status, json } = await service.request<{ clientToken: string; authentication: { id: string } }>(
    'POST',
    '/auth/v1/method/token',
    {
      name: 'n',
    },
  )
  if (status !== 200) throw new Error(`no token: ${status}`)
  return { bearer: { authorization: `Bearer ${json.clientToken}` }, id: json.authentication.id }
}
const revoke = async (service: Started, id: string) => {
  const { status, text } = await service.request('DELETE', `/auth/v1/tokens/${id}`)
  if (status !== 200) throw new Error(`not revoked: ${status} ${text}`)
}
/** The status of an evaluation with the token: it is answered from memory, so nothing but the token is asked about. */
const use = async (service: Started, bearer: Bearer) =>
  (await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, bearer)).status
/** Whether the answer becomes this one in five seconds, and is never a 200 before when it is to be refused. */
const becomes = async (service: Started, bearer: Bearer, wanted: 200 | 401): Promise<boolean> => {
  for (const end = performance.now() + 5000; performance.now() < end; await sleep(20)) {
    const status = await use(service, bearer)
    if (status === wanted) return true
    if (wanted === 401 && status === 200) return false
  }
  return false
}
const at = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
const figures = (numbers: readonly number[]) => {
  const sorted = numbers.toSorted((one, other) => one - other)
  return `p50 ${at(sorted, 0.5).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms, max ${sorted.at(-1)!.toFixed(1)} ms`
}
/** Does the work so many times, a few at once. */
const many = async (count: number, work: () => Promise<void>) => {
  let begun = 0
  const worker = async () => {
    while (begun++ < count) await work()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Two instances on these servers, the second on its own way to the event store. */
const startTwo = async (t: Test, stack: Stack, url = stack.settings['eventstore.url']!) => {
  const settings = { ...stack.settings, 'rate_limit.enabled': 'false' }
  const a = await startService(t, settings)
  const b = await startService(t, { ...settings, 'eventstore.url': url })
  const flag = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await a.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  t.ok(await becomes(b, { authorization: `Bearer ${b.token}` }, 200), 'the flag is known elsewhere')
  return { a, b }
}

const FOLLOWERS = [
  { of: 'a follower that delivers before the leader shows', ahead: 28, rounds: ROUNDS },
  { of: 'one node', ahead: undefined, rounds: 1 },
]
for (const { of, ahead, rounds } of FOLLOWERS)
  await t.test(
    `over ${of}: a token is usable elsewhere the moment it is shown, and refused there soon after it is revoked`,
    async (t) => {
      const [lags, uses]: [number[], number[]] = [[], []]
      let [unusable, stillUsable, late] = [0, 0, 0]
      for (let round = 0; round < rounds; round++)
        await t.test(`${REVOCATIONS / ROUNDS} tokens, round ${round + 1} of ${rounds}`, async (t) => {
          const { stack, skip } = await startStack(t, ahead)
          if (!stack) return t.pass('needs servers', { skip })
          const { a, b } = await startTwo(t, stack)
          const revoked: Bearer[] = []
          await many(REVOCATIONS / ROUNDS, async () => {
            const { bearer, id } = await issue(a)
            if ((await use(a, bearer)) !== 200) unusable++
            const used = performance.now()
            if ((await use(b, bearer)) !== 200) unusable++
            uses.push(performance.now() - used)
            await revoke(a, id)
            const since = performance.now()
            if ((await use(a, bearer)) !== 401) stillUsable++
            while ((await use(b, bearer)) === 200 && performance.now() - since < BOUND) await sleep(4)
            lags.push(performance.now() - since)
            revoked.push(bearer)
          })
          await sleep(BOUND)
          for (const bearer of revoked) if ((await use(b, bearer)) !== 401) late++
          t.equal(revoked.length, REVOCATIONS / ROUNDS)
          return undefined
        })
      if (lags.length === 0) return
      t.equal(lags.length, (REVOCATIONS / ROUNDS) * rounds)
      t.equal(unusable, 0, 'a new token was refused')
      t.equal(stillUsable, 0, 'a revoked token worked where it was revoked')
      t.equal(late, 0, 'a revoked token worked later')
      t.ok(Math.max(...lags) < BOUND, 'the bound holds')
      t.comment(`first use elsewhere: ${figures(uses)}`)
      t.comment(`revocation elsewhere, ${lags.length} of them: ${figures(lags)}; 200s after 3 s: ${late}`)
    },
  )

await t.test('a revocation that the other cannot hear of is in force there within the bound', async (t) => {
  const { stack, skip } = await startStack(t)
  if (!stack) return t.pass('needs servers', { skip })
  const { link, url } = await linkTo(t, stack.settings['eventstore.url']!)
  const { a, b } = await startTwo(t, stack, url)
  for (const mode of ['blackhole', 'reset'] as const)
    await t.test(mode, async (t) => {
      const tokens = await Promise.all(Array.from({ length: 20 }, () => issue(a)))
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 200), 'known there')
      await link.set(mode)
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
          const status = await use(b, bearer)
          seen.set(status, (seen.get(status) ?? 0) + 1)
          if (status === 200) last.push(asked)
        }
      }
      t.comment(
        `${mode}: answers ${JSON.stringify([...seen])}, the last 200 was asked for ${Math.max(0, ...last).toFixed(0)} ms after`,
      )
      t.ok(Math.max(0, ...last) < BOUND, 'never a 200 later')
      t.ok((seen.get(503) ?? 0) > 0, 'then it says that it does not know')
      const back = performance.now()
      await link.set('pass')
      while ((await use(b, tokens[0]!.bearer)) !== 401 && performance.now() - back < 15_000) await sleep(10)
      t.comment(`${mode}: back after ${(performance.now() - back).toFixed(0)} ms`)
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 401), 'and refused for good')
      const fresh = await issue(a)
      t.ok(await becomes(b, fresh.bearer, 200), 'and it works again')
    })
  return undefined
})
