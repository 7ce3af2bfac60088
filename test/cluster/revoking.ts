import type { Test } from 'tap'
import { startService, type Started } from '../start.ts'
import { type Stack, startStack } from './stack.ts'

/** Tokens of one round. */
const TOKENS = 400
const AT_ONCE = 8
/** What is promised of every revocation, in milliseconds. */
export const BOUND = 3000

export const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
export type Bearer = { readonly authorization: string }

/** Asks again while the instance says that it does not know: a machine with other work may make it stale, and then it says no more than that. */
export const known = async <T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> => {
  for (const end = performance.now() + 30_000; ; await sleep(200)) {
    const answer = await ask()
    if (answer.status !== 503 || performance.now() > end) return answer
  }
}

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }

export const issue = async (service: Started) => {
  const { status, json } = await known(() => service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' }))
  if (status !== 200) throw new Error(`no token: ${status}`)
  return { bearer: { authorization: `Bearer ${json.clientToken}` }, id: json.authentication.id }
}
/** Gives the position of the revocation. */
export const revoke = async (service: Started, id: string): Promise<bigint> => {
  const { status, text, headers } = await known(() => service.request('DELETE', `/auth/v1/tokens/${id}`))
  if (status !== 200) throw new Error(`not revoked: ${status} ${text}`)
  return BigInt(String(headers['event-position']))
}
/** The status of an evaluation with the token: it is answered from memory, so nothing but the token is asked about. */
export const use = async (service: Started, bearer: Bearer) =>
  (await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, bearer)).status
/** The same, of an instance that knows. */
export const useKnown = async (service: Started, bearer: Bearer) =>
  (await known(async () => ({ status: await use(service, bearer) }))).status
/** Whether the answer becomes this one in five seconds, and is never a 200 before when it is to be refused. */
export const becomes = async (service: Started, bearer: Bearer, wanted: 200 | 401): Promise<boolean> => {
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
export const startTwo = async (t: Test, stack: Stack, url = stack.settings['eventstore.url']!) => {
  const settings = { ...stack.settings, 'rate_limit.enabled': 'false' }
  const a = await startService(t, settings)
  const b = await startService(t, { ...settings, 'eventstore.url': url })
  const flag = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await a.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  t.ok(await becomes(b, { authorization: `Bearer ${b.token}` }, 200), 'the flag is known elsewhere')
  return { a, b }
}

/**
 * Tokens are usable on the other instance the moment they are shown, and refused there soon after they are revoked: so many rounds of 400,
 * each on servers of its own, for the stand-in for MongoDB reads a collection row by row. `ahead` = milliseconds by which a follower of the
 * event store delivers before its leader shows.
 */
export const revokedElsewhere = async (t: Test, rounds: number, ahead?: number): Promise<void> => {
  const [lags, uses]: [number[], number[]] = [[], []]
  let [unusable, stillUsable, overdue, late] = [0, 0, 0, 0]
  for (let round = 0; round < rounds; round++)
    await t.test(`${TOKENS} tokens, round ${round + 1} of ${rounds}`, async (t) => {
      const { stack, skip } = await startStack(t, ahead)
      if (!stack) return t.pass('needs servers', { skip })
      const { a, b } = await startTwo(t, stack)
      const revoked: Bearer[] = []
      await many(TOKENS, async () => {
        const { bearer, id } = await issue(a)
        if ((await useKnown(a, bearer)) !== 200) unusable++
        const used = performance.now()
        if ((await useKnown(b, bearer)) !== 200) unusable++
        uses.push(performance.now() - used)
        await revoke(a, id)
        const since = performance.now()
        if ((await useKnown(a, bearer)) !== 401) stillUsable++
        // What was asked before the bound may be answered later, on a machine with other work.
        for (let asked = since; (await use(b, bearer)) === 200; asked = performance.now()) {
          if (asked - since >= BOUND) {
            overdue++
            break
          }
          await sleep(4)
        }
        lags.push(performance.now() - since)
        revoked.push(bearer)
      })
      await sleep(BOUND)
      for (const bearer of revoked) if ((await useKnown(b, bearer)) !== 401) late++
      t.equal(revoked.length, TOKENS)
      return undefined
    })
  if (lags.length === 0) return
  t.equal(lags.length, TOKENS * rounds)
  t.equal(unusable, 0, 'a new token was refused')
  t.equal(stillUsable, 0, 'a revoked token worked where it was revoked')
  t.equal(late, 0, 'a revoked token worked later')
  t.equal(overdue, 0, 'asked after the bound, and it worked')
  t.comment(`first use elsewhere: ${figures(uses)}`)
  t.comment(`revocation elsewhere, ${lags.length} of them: ${figures(lags)}; 200s after 3 s: ${late}`)
}
