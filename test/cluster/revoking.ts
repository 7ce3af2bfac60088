import type { Test } from 'tap'
import { type Started, startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { type Stack, startStack } from './stack.ts'

/** Tokens per round. */
const TOKENS = 400
const AT_ONCE = 8
/** Guaranteed time (ms) until a revocation is in effect everywhere. */
export const BOUND = 3000

export type Bearer = { readonly authorization: string }

/** Repeats a request while the instance answers that it is not up to date. */
export const known = <T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> =>
  eventually(async () => {
    const answer = await ask()
    return answer.status !== 503 && answer
  }, 'an answer of an instance that knows')

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }

export const issue = async (service: Started) => {
  const { status, json } = await known(() => service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' }))
  if (status !== 200) throw new Error(`no token: ${status}`)
  return { bearer: { authorization: `Bearer ${json.clientToken}` }, id: json.authentication.id }
}
/** Revokes a token and returns the position of the event. */
export const revoke = async (service: Started, id: string): Promise<bigint> => {
  const { status, text, headers } = await known(() => service.request('DELETE', `/auth/v1/tokens/${id}`))
  if (status !== 200) throw new Error(`not revoked: ${status} ${text}`)
  return BigInt(String(headers['event-position']))
}
/** Status of an evaluation with the token. Flags are in memory, so only the token is checked. */
export const use = async (service: Started, bearer: Bearer) =>
  (await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, bearer)).status
/** Waits for this status. */
export const becomes = async (service: Started, bearer: Bearer, wanted: 200 | 401): Promise<boolean> =>
  eventually(async () => (await use(service, bearer)) === wanted, `the answer ${wanted}`)
/** Waits for a 401; returns false if a 200 comes first. */
export const staysRefused = async (service: Started, bearer: Bearer): Promise<boolean> =>
  (await eventually(async () => {
    const status = await use(service, bearer)
    return (status === 200 || status === 401) && status
  }, 'an instance that knows again')) === 401
/** Runs the work `count` times, a few at once. */
const many = async (count: number, work: () => Promise<void>) => {
  let begun = 0
  const worker = async () => {
    while (begun++ < count) await work()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/**
 * Starts two instances on these servers, the second with its own connection to the event store. Their clocks stand
 * still afterwards unless the test moves or replaces them.
 */
export const startTwo = async (
  t: Test,
  stack: Pick<Stack, 'settings'>,
  { url = stack.settings['eventstore.url']!, clocks = { a: virtualClock(), b: virtualClock() } } = {},
) => {
  const settings = { ...stack.settings, 'rate_limit.enabled': 'false' }
  const a = await startService(t, settings, { clock: clocks.a })
  const b = await startBeside(Object.values(clocks), t, { ...settings, 'eventstore.url': url }, { clock: clocks.b })
  const flag = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await a.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  t.ok(await becomes(b, { authorization: `Bearer ${b.token}` }, 200), 'the flag is known elsewhere')
  return { a, b, clocks }
}

/**
 * Verifies that the other instance accepts tokens as soon as they are issued and refuses them right after revocation.
 * Each round of 400 tokens has its own servers, because the stand-in for MongoDB reads collections row by row. `ahead`:
 * ms by which a follower of the event store is ahead of its leader.
 */
export const revokedElsewhere = async (t: Test, rounds: number, ahead?: number): Promise<void> => {
  let [revoked, unusable, stillUsable, overdue, late] = [0, 0, 0, 0, 0]
  for (let round = 0; round < rounds; round++)
    await t.test(`${TOKENS} tokens, round ${round + 1} of ${rounds}`, async (t) => {
      const { stack, skip } = await (ahead === undefined
        ? startStack(t)
        : startStack(t, { ahead, needs: { eventstore: 'a follower that is ahead of its leader' } }))
      if (!stack) return t.pass(t.name, { skip })
      const { a, b, clocks } = await startTwo(t, stack)
      const ended: Bearer[] = []
      await many(TOKENS, async () => {
        const { bearer, id } = await issue(a)
        if ((await use(a, bearer)) !== 200) unusable++
        if ((await use(b, bearer)) !== 200) unusable++
        await revoke(a, id)
        if ((await use(a, bearer)) !== 401) stillUsable++
        const since = clocks.b.monotonic()
        await becomes(b, bearer, 401)
        if (clocks.b.monotonic() - since > BOUND) overdue++
        ended.push(bearer)
      })
      await clocks.b.advance(BOUND)
      await walking([clocks.b], async () => {
        for (const bearer of ended) if (!(await staysRefused(b, bearer))) late++
      })
      revoked += ended.length
      return undefined
    })
  if (revoked === 0) return
  t.equal(revoked, TOKENS * rounds)
  t.equal(unusable, 0, 'a new token was refused')
  t.equal(stillUsable, 0, 'a revoked token worked where it was revoked')
  t.equal(late, 0, 'a revoked token worked later')
  t.equal(overdue, 0, 'asked after the bound, and it worked')
}
