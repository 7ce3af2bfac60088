import t from 'tap'
import { bearer, begin, comeBack, cookiesOf, EXCHANGE, type Issued, OIDC, open, visit } from '../http/people.ts'
import type { Response } from '../start.ts'
import { eventually } from '../wait.ts'
import { type Backend, backends, type Fault, startFaulty } from './faults.ts'

/** Validity of a proof of the head, in ms. */
const LEASE_MS = 2_000
/** Requests during an outage. */
const requests = [
  'evaluate',
  'command',
  'issue',
  'revoke',
  'self',
  'list',
  'login',
  'exchange',
  'readyz',
  'livez',
] as const
type Asked = (typeof requests)[number]
/** Allowed answer: `200`, or `503` with one of these reasons. */
type Allowed = string

const stale = '503 auth_stale'
const away = '503 backend_unavailable'
const fine = '200'
const early = `${fine} ${away} ${stale}`
const works: Readonly<Record<Asked, Allowed>> = {
  evaluate: fine,
  command: fine,
  issue: fine,
  revoke: fine,
  self: fine,
  list: fine,
  login: fine,
  exchange: fine,
  readyz: fine,
  livez: fine,
}
/** Allowed answers during an outage of each server, if not 200; see docs/guides/operations.md. */
const matrix: Readonly<Record<Backend, Partial<Record<Asked, Allowed>>>> = {
  eventstore: {
    evaluate: stale,
    command: stale,
    issue: stale,
    revoke: stale,
    self: stale,
    list: stale,
    login: away,
    exchange: away,
    readyz: '503 not_ready',
  },
  // The list of tokens waits for new events, or MongoDB is unreachable.
  mongodb: { list: `${away} view_behind` },
  redis: {},
  provider: { login: '503 provider_unavailable' },
  orchestrator: { exchange: '503 orchestrator_unavailable' },
}
/** Answers before the proof expires: reads work from memory, and writes wait until the store is back in time. */
const caught: Readonly<Record<Asked, Allowed>> = {
  ...works,
  evaluate: `${fine} ${stale}`,
  command: early,
  issue: early,
  revoke: early,
  self: early,
  list: early,
  login: early,
  exchange: early,
  readyz: '503 not_ready',
}

const reasonOf = ({ status, json }: Response<unknown>): string => {
  const { details, status: word } = json as { details?: readonly { value: { reason: string } }[]; status?: string }
  return status === 200 ? '' : (details?.[0]?.value.reason ?? word ?? '')
}

const { a, b, clock, serviceAccountToken, faults, skip } = await startFaulty(t)

await t.test('during the outage of a server each kind of request gets the expected answer', { skip }, async (t) => {
  const service = a!
  const issue = async () => {
    const { status, json, text } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' })
    if (status !== 200) throw new Error(`no token: ${status} ${text}`)
    return { id: json.authentication.id, bearer: bearer(json.clientToken) }
  }
  const flag = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await service.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  const holder = await issue()
  const evaluate = (headers = holder.bearer) =>
    service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, headers)
  let commands = 0
  const command = () =>
    service.request('POST', '/api/v1/namespaces/default/segments', { key: `s${commands++}`, name: 'S' }, holder.bearer)
  const logIn = async () => {
    const { authorizeUrl, cookie } = await begin(service, OIDC)
    const query = await visit(authorizeUrl)
    return () => comeBack(service, OIDC, query, { cookie, accept: 'application/json' })
  }
  const exchange = async () => {
    const token = await serviceAccountToken!()
    return () => service.request<Issued>('POST', EXCHANGE, { service_account_token: token }, open)
  }

  /** Creates what every request needs before the failure. */
  const prepare = async (): Promise<Readonly<Record<Asked, () => Promise<Response<unknown>>>>> => {
    const doomed = await issue()
    return {
      evaluate: () => evaluate(),
      command,
      issue: () => service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' }, holder.bearer),
      revoke: () => service.request('DELETE', `/auth/v1/tokens/${doomed.id}`, undefined, holder.bearer),
      self: () => service.request('GET', '/auth/v1/self', undefined, holder.bearer),
      list: () => service.request('GET', '/auth/v1/tokens', undefined, holder.bearer),
      login: await logIn(),
      exchange: await exchange(),
      readyz: () => service.request('GET', '/readyz', undefined, open),
      livez: () => service.request('GET', '/livez', undefined, open),
    }
  }

  const acknowledged: { readonly id: string; readonly token: string }[] = []
  let cells = 0
  /** Sends all requests at once and compares the answers. */
  const ask = async (
    asking: Awaited<ReturnType<typeof prepare>>,
    allowed: Readonly<Record<Asked, Allowed>>,
    when: string,
  ) => {
    const told = requests.map(async (name) => {
      const answer = await asking[name]()
      const said = `${answer.status} ${reasonOf(answer)}`.trim()
      const words: readonly string[] = allowed[name].split(' ')
      const fits = words.includes(String(answer.status)) && (answer.status === 200 || words.includes(reasonOf(answer)))
      t.ok(fits, `${when}: ${name} is answered ${said}${fits ? '' : `, not ${allowed[name]}`}`)
      cells++
      const { clientToken, authentication } = answer.json as Partial<Issued>
      const token = clientToken || cookiesOf(answer)['service_client_token']?.value
      if (answer.status === 200 && token !== undefined && authentication)
        acknowledged.push({ id: authentication.id, token })
    })
    await Promise.all(told)
  }
  /** Waits until all requests work. */
  const recovered = (when: string) => {
    const all = async () => {
      const answers = await Promise.all([
        evaluate(),
        command(),
        service.request('GET', '/auth/v1/tokens'),
        service.request('GET', '/readyz'),
      ])
      if (answers.some(({ status }) => status !== 200)) return false
      for (const flow of [await logIn(), await exchange()]) if ((await flow()).status !== 200) return false
      return true
    }
    return eventually(() => all().catch(() => false), `${when}: everything works`)
  }

  const row = async (backend: Backend, { name, begin: fail, end: mend }: Fault) => {
    const when = `${backend} ${name}`
    const [first, later] = [await prepare(), await prepare()]
    await fail()
    const under = backend === 'eventstore' ? ask(first, caught, `${when}, at first`) : undefined
    if (under) await clock!.advance(LEASE_MS + 1)
    await ask(later, { ...works, ...matrix[backend] }, when)
    await mend()
    await under
    const since = clock!.monotonic()
    await recovered(when)
    t.ok(clock!.monotonic() - since < 20_000, `${when}: everything works again`)
  }

  await recovered('to begin with')
  for (const backend of backends) for (const fault of faults![backend]) await row(backend, fault)

  t.comment(`${cells} answers`)
  t.ok(acknowledged.length > 0)
  for (const { id, token } of acknowledged) {
    t.equal((await b!.request('GET', `/auth/v1/tokens/${id}`)).status, 200, 'what was acknowledged is known elsewhere')
    t.not(
      (await b!.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, bearer(token))).status,
      401,
    )
  }
})
