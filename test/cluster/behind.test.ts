import t from 'tap'
import type { EventLog, Stored } from '../../src/events/log.ts'
import type { Problem } from '../http/people.ts'
import { startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { openLogOf } from './named-servers.ts'
import { issue } from './revoking.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
/** Tokens per round. Two rounds are more than an address may send of wrong credentials in a minute. */
const TOKENS = 200
const STALE = '503 auth_stale 1'

/** A log that delivers no new event while it is held. */
const heldLog = () => {
  let held: Promise<void> | undefined
  let release = () => {}
  async function* delivered(pages: AsyncIterable<readonly Stored[]>) {
    for await (const page of pages) {
      await held
      yield page
    }
  }
  return {
    logOf: (log: EventLog): EventLog => ({ ...log, follow: (after, signal) => delivered(log.follow(after, signal)) }),
    hold: (): void => void (held = new Promise((resolve) => (release = resolve))),
    release: (): void => release(),
  }
}

await t.test('two instances, one of which receives events late', { skip }, async (t) => {
  const [clock, clockOfB] = [virtualClock(), virtualClock()]
  const [views, held] = [heldLog(), heldLog()]
  // The first instance writes the views from the events that it receives, and has its own events in memory at once.
  const a = await startService(t, stack!.settings, { clock, logOf: views.logOf })
  const b = await startBeside([clock, clockOfB], t, stack!.settings, { clock: clockOfB, logOf: held.logOf })
  const release = () => {
    views.release()
    held.release()
  }
  t.teardown(release)
  /** Makes tokens on the first instance that neither the other one nor the views receive. */
  const madeElsewhere = async () => {
    views.hold()
    held.hold()
    return Promise.all(Array.from({ length: TOKENS }, async () => (await issue(a)).bearer.authorization))
  }
  const cookieOf = (authorization: string) => ({
    authorization: '',
    cookie: authorization.replace('Bearer ', 'service_client_token='),
    'sec-fetch-site': 'same-origin',
  })
  const ask = async (method: string, path: string, authorization: string, n: number) => {
    const headers = n % 2 ? { authorization } : cookieOf(authorization)
    const { status, json, headers: told } = await b.request<Problem>(method, path, undefined, headers)
    const text = `${status} ${json.details?.[0]?.value.reason ?? ''} ${told['retry-after'] ?? ''}`.trim()
    return { text, cleared: told['set-cookie'] !== undefined }
  }
  /** Distinct answers to requests with each of the tokens at once. */
  const answers = async (made: readonly string[], method = 'GET', path = '/auth/v1/self') => {
    const requests = () => Promise.all(made.map((authorization, n) => ask(method, path, authorization, n)))
    const all = await walking([clockOfB], requests)
    return { texts: [...new Set(all.map(({ text }) => text))].toSorted(), cleared: all.some(({ cleared }) => cleared) }
  }
  const known = (made: readonly string[]) => async () => (await answers(made)).texts.join() === '200'
  const refused = async () => {
    const lines = (await b.metrics()).match(/auth_decisions_total\{result="refused",reason="\w+"/g) ?? []
    return [...new Set(lines.map((line) => /reason="(\w+)"/.exec(line)![1]))]
  }

  await t.test('refuse a new token with auth_stale while neither memory nor view have it', async (t) => {
    const made = await madeElsewhere()
    for (const round of [1, 2]) t.same(await answers(made), { texts: [STALE], cleared: false }, `round ${round}`)
    const few = made.slice(0, 2)
    t.same(await answers(few, 'GET', '/auth/v1/self/session'), { texts: [STALE], cleared: false }, 'the session')
    t.same(await answers([few[0]!], 'DELETE', '/auth/v1/self/session'), { texts: [STALE], cleared: false }, 'sign-out')
    t.strictSame(await refused(), ['auth_stale'], 'nothing counts as a wrong credential')
    release()
    await eventually(known(made), 'the events')
    t.same(await answers([few[0]!], 'DELETE', '/auth/v1/self/session'), { texts: ['200'], cleared: true })
    t.same(
      await answers(['Bearer wrong']),
      { texts: ['401 credential_invalid'], cleared: false },
      'no limit is used up',
    )
  })

  await t.test('a token is created for a namespace that only another instance has received', async (t) => {
    held.hold()
    t.equal((await a.request('POST', '/api/v1/namespaces', { key: 'new', name: 'New' })).status, 200)
    const create = (namespaceKey: string) =>
      walking([clockOfB], () => b.request('POST', '/auth/v1/method/token', { name: 'n', namespaceKey }))
    t.equal((await create('new')).status, 200)
    t.equal((await create('unknown')).status, 404)
    held.release()
  })

  await t.test('a new token is valid or cannot be judged while the view catches up first', async (t) => {
    const made = await madeElsewhere()
    views.release()
    const { texts, cleared } = await walking([clock], () => answers(made))
    t.strictSame([texts.filter((text) => text !== '200' && text !== STALE), cleared], [[], false])
    held.release()
    await eventually(known(made), 'the events')
  })

  await t.test('the history counts only the refusal of the wrong credential', async (t) => {
    await b.close()
    const log = await openLogOf(stack!.settings)
    t.teardown(log.close)
    const counts: unknown[] = []
    for await (const page of log.readAll(0n))
      for (const { type, data } of page)
        if (/Refused|Refusals/.test(type)) counts.push((JSON.parse(data) as { byReason?: object }).byReason)
    t.strictSame(counts, [{ credential_invalid: 1 }])
  })
})
