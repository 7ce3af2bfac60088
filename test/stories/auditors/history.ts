import type { Test } from 'tap'
import type { HistoryEvent, HistoryEvents } from '../../../src/contract/history/events.ts'
import { rollcall } from '../../cli/service.ts'
import { granted } from '../../http/granted.ts'
import { bearer, begin, CODEHOST, comeBack, EXCHANGE, everyWay, logIn, OIDC, open, visit } from '../../http/people.ts'
import type { Headers, Started } from '../../start.ts'
import { parsed, tokenCommand } from './page.ts'

const PROD = '/api/v1/namespaces/prod'
/** Name of the person who left. */
export const CANARY = 'Alice Canary'

/** The newest event of a service. */
const newest = async ({ request }: Started): Promise<HistoryEvent> =>
  (await request<HistoryEvents>('GET', '/audit/v1/events?order=desc&limit=1')).json.events[0]!

/** The instant of an event, `ms` later. */
const instantOf = ({ time }: HistoryEvent, ms = 0): string => new Date(Date.parse(time) + ms).toISOString()

/** Creates the token of the auditor with the command of the guide. */
const auditorOf = async ({ url, token, request }: Started) => {
  const { words } = parsed(tokenCommand)
  const { out } = await rollcall(words, { ROLLCALL_ADDRESS: url, ROLLCALL_TOKEN: token })
  const [clientToken, headers] = [out.trim(), bearer(out.trim())]
  const { json } = await request<{ readonly id: string }>('GET', '/auth/v1/self', undefined, headers)
  return { id: json.id, clientToken, headers }
}

/**
 * Starts a service with a small history for all questions of the guide: logins, exchanges, tokens with grants, a
 * leaver, a leaked token, refused attempts, changes with tickets, an export, a clock that was set back, a retained
 * checkpoint and a restart.
 */
export const makeHistory = async (t: Test) => {
  const wall = { offsetMs: 0 }
  const now = () => new Date(Date.now() + wall.offsetMs)
  const { service, liar, host, cluster, settings } = await everyWay(t, {}, { now })
  liar.lies = { claims: { email: 'alice@example.com', email_verified: true, name: CANARY } }
  const send = async (
    method: string,
    path: string,
    body: object | undefined,
    reason: string,
    headers: Headers = {},
  ) => {
    const { status, text } = await service.request(method, path, body, { 'event-reason': reason, ...headers })
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`)
  }

  await send('POST', '/api/v1/namespaces', { key: 'prod', name: 'Production' }, 'CHG-1')
  await send('POST', `${PROD}/flags`, { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE' }, 'CHG-1')
  await send('POST', `${PROD}/flags/checkout/rollouts`, { threshold: { percentage: 0, value: true } }, 'CHG-1')
  const alice = await logIn(service, OIDC)
  await logIn(service, CODEHOST)
  await service.request('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)
  const auditor = await auditorOf(service)
  const leaked = await granted(service, { name: 'deploy' })
  const ci = await granted(service, { name: 'ci', grants: [{ role: 'editor', namespaceKey: 'prod' }] })
  const moment = await newest(service)

  const late = await granted(service, { name: 'late' })
  await send('PUT', `${PROD}/flags/checkout`, { name: 'Checkout', enabled: true }, 'CHG-2 launch', ci.headers)
  const launch = await newest(service)
  await send('POST', `${PROD}/segments`, { key: 'staff', name: 'Staff' }, 'CHG-3', bearer(alice.token))
  await send('PUT', `${PROD}/flags/checkout`, { name: 'Hacked', enabled: true }, 'none', leaked.headers)
  await send('DELETE', `/auth/v1/tokens/${leaked.id}`, undefined, 'found in a repository')
  await service.request('GET', `${PROD}/flags`, undefined, leaked.headers)
  await service.request('POST', EXCHANGE, { service_account_token: 'x' }, open)
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const denied = new URLSearchParams({ error: 'access_denied', state: (await visit(authorizeUrl)).get('state')! })
  await comeBack(service, OIDC, denied, { cookie, accept: 'application/json' })
  await send('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_OIDC', identity: 'alice' }, 'LEAVER-7')
  await service.request('GET', '/audit/v1/events?format=ndjson', undefined, auditor.headers)
  await service.request('GET', '/audit/v1/events?personal=open&limit=1', undefined, auditor.headers)
  wall.offsetMs = -60_000
  await send('POST', '/api/v1/namespaces', { key: 'later', name: 'Later' }, 'CHG-4')
  wall.offsetMs = 0

  const { vkey } = (await service.request<{ keys: { vkey: string }[] }>('GET', '/audit/v1/ledger')).json.keys[0]!
  const checkpoint = await service.request<{ text: string }>('POST', '/audit/v1/ledger/checkpoint', {})
  await service.reopen()

  const events = async (search: string): Promise<readonly HistoryEvent[]> =>
    (await service.request<HistoryEvents>('GET', `/audit/v1/events?limit=1000&${search}`)).json.events
  const [first] = await events('')
  const [login] = await events(`tokenId=${alice.authentication.id}`)
  return {
    service,
    settings,
    vkey,
    /** Text of the checkpoint that the auditor retained. */
    checkpoint: checkpoint.json.text,
    /** Times of the first event, of the moment of the questions, and after the last event. */
    times: { from: instantOf(first!), moment: moment.time, to: instantOf(await newest(service), 1) },
    launch,
    /** Event of the login of the person who left. */
    login: login!,
    /** Subject of the person who left. */
    person: login!.subject!,
    /** Id of the same person at the code host. */
    codehostId: String(host.user['id']),
    tokens: { alice, auditor, ci, late, leaked },
    /** Events that match a query, at most one page. */
    events,
  }
}

export type MadeHistory = Awaited<ReturnType<typeof makeHistory>>
