import t from 'tap'
import { startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t, { needs: { eventstore: 'it loses its quorum' } })
/** Requests of each kind. */
const REQUESTS = 100
/** Number of second attempts that the event store has received when it gets its quorum back. */
const ON_THE_WAY = 40

type Issued = { readonly clientToken?: string; readonly authentication: { readonly id: string } }
type Rollouts = { readonly rules: readonly { readonly id: string }[] }

await t.test('requests repeated after undecided attempts are answered from the log', { skip }, async (t) => {
  const clocks = [virtualClock(), virtualClock()] as const
  const settings = { ...stack!.settings, 'rate_limit.enabled': 'false' }
  const [a, b] = [
    await startService(t, settings, { clock: clocks[0] }),
    await startBeside(clocks, t, settings, { clock: clocks[1] }),
  ]
  const { eventstore } = stack!
  const numbers = Array.from({ length: REQUESTS }, (_, n) => n)
  const flags = '/api/v1/namespaces/default/flags'
  let made = ''
  for (const n of numbers) {
    const flag = await a.request('POST', flags, { key: `f${n}`, name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
    t.equal(flag.status, 200)
    made = String(flag.headers['event-position'])
  }
  t.equal((await b.request('GET', flags, undefined, { 'after-position': made })).status, 200)

  const issue = (service: typeof a, n: number) =>
    service.request<Issued>('POST', '/auth/v1/method/token', { name: `n${n}` }, { 'idempotency-key': `token-${n}` })
  const change = (service: typeof a, n: number) =>
    service.request<{ readonly id: string }>(
      'POST',
      `${flags}/f${n}/rollouts`,
      { threshold: { percentage: n, value: true } },
      { 'idempotency-key': `change-${n}` },
    )
  const all = (service: typeof a) =>
    Promise.all([
      Promise.all(numbers.map((n) => issue(service, n))),
      Promise.all(numbers.map((n) => change(service, n))),
    ])

  eventstore.loseQuorum(true)
  const first = await walking(clocks, () => all(a))
  t.strictSame(new Set(first.flat().map(({ status }) => status)), new Set([503]), 'no attempt is decided')
  const before = eventstore.appends()
  const [tokens, changes] = await walking(clocks, async () => {
    const second = all(b)
    await eventually(() => eventstore.appends() - before >= ON_THE_WAY, 'second attempts')
    eventstore.loseQuorum(false)
    return second
  })

  for (const { status, json, headers } of tokens) {
    t.equal(status, 200)
    t.ok(json.clientToken, 'no answer with the secret was given before')
    const bearer = { authorization: `Bearer ${json.clientToken}`, 'after-position': String(headers['event-position']) }
    for (const service of [a, b]) {
      const self = await service.request('GET', '/auth/v1/self', undefined, bearer)
      t.equal(self.status, 200, 'the secret works')
      t.strictSame(self.json, json.authentication, 'the answer has the data of the log')
    }
  }
  for (const [n, { status, json, headers }] of changes.entries()) {
    t.equal(status, 200)
    const after = { 'after-position': String(headers['event-position']) }
    for (const service of [a, b]) {
      const rollouts = await service.request<Rollouts>('GET', `${flags}/f${n}/rollouts`, undefined, after)
      t.strictSame(rollouts.json.rules, [json])
      t.equal(rollouts.headers.etag, headers.etag)
    }
  }

  const [again] = await all(a)
  for (const [n, { json, headers }] of again.entries()) {
    t.equal(headers['idempotency-replayed'], 'true')
    t.match(json, { details: [{ value: { reason: 'secret_already_shown' } }] })
    t.strictSame([json.clientToken, json.authentication], [undefined, tokens[n]!.json.authentication])
  }
})
