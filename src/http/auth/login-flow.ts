import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { given, givenOnce, providerErrorOf, refuseCallback } from '../../auth/callback.ts'
import { freshSecrets, type Identity, type LoginSecrets } from '../../auth/identity.ts'
import { mint } from '../../auth/client-token.ts'
import type { Context } from '../../commands/envelope.ts'
import { login } from '../../commands/login.ts'
import { token } from '../../commands/token.ts'
import { Refusal, refuse } from '../../errors.ts'
import type { Stored } from '../../events/log.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { type Answer, redirect } from '../wire/reply.ts'
import { attemptFailed, attemptRefused, attemptSucceeded } from './login-throttle.ts'
import { presentAuthentication } from '../present/authentication.ts'
import type { LoginMethod } from './login-method.ts'
import { rawQuery } from '../wire/path.ts'
import type { Call } from '../route.ts'
import type { Service } from '../service.ts'
import { contextOf, applyEvents } from '../command-context.ts'

type Request = Call<unknown, unknown>

const digestOf = (state: string) => createHash('sha256').update(state).digest('hex')
const equal = (one: string, other: string) => timingSafeEqual(Buffer.from(digestOf(one)), Buffer.from(digestOf(other)))
const wants = ({ headers: { accept = '' } }: FastifyRequest, type: string) => accept.toLowerCase().includes(type)

/** A segment that is empty (the last one may be), or that a browser takes for a step to another one. */
const stepping = /\/(?:\/|(?:\.|%2e){1,2}(?:\/|$))/i

/** A path on this origin as the browser sees it; anything else is the base path (api.md §5.5). */
export const safeReturn = (path: string, base: string): string => {
  const isPath = path.length <= 2048 && /^\/[\x21-\x5b\x5d-\x7e]*$/.test(path)
  return isPath && !stepping.test(path.split(/[?#]/, 1)[0]!) ? path : `${base}/`
}

const begun = async (service: Service, request: FastifyRequest, way: LoginMethod, secrets: LoginSecrets) => {
  try {
    return await way.begin(secrets)
  } catch (error) {
    if (error instanceof Refusal) attemptRefused(service, request, way, error)
    throw error
  }
}

/** Begins a login: the address to send the browser to, and the state cookie that binds the login to it and is all that there is of it until the browser comes back. */
export const beginLogin = async (
  service: Service,
  call: Request,
  way: LoginMethod,
  returnTo: string,
): Promise<Answer> => {
  const { cookies, settings, now, logins, refusals } = service
  const { request, reply } = call
  const { method, provider, callbackPath } = way
  const secrets = freshSecrets()
  const authorizeUrl = String(await begun(service, request, way, secrets))
  const time = now()
  const state = logins.states.seal({
    ...secrets,
    method,
    ...(provider !== undefined && { provider }),
    returnTo: safeReturn(returnTo, cookies.basePath(request)),
    startedAt: time.toISOString(),
    expiresAt: new Date(time.getTime() + settings.session.stateLifetime).toISOString(),
  })
  cookies.setState(reply, state, callbackPath, settings.session.stateLifetime)
  refusals.begun(provider === undefined ? method : `${method}/${provider}`)
  return { body: { authorizeUrl } }
}

/** The rules about the login itself; from here on it is used up. `context` is that of the events to come. */
const takeLogin = async (service: Service, call: Request, way: LoginMethod, parameters: URLSearchParams) => {
  const { method, provider } = way
  givenOnce(parameters)
  const [state, held] = [given(parameters, 'state'), service.cookies.states(call.request)]
  if (state === undefined || held[0] === undefined) return refuseCallback(method, 'state_missing')
  const opened = held.length === 1 ? service.logins.states.open(held[0]) : undefined
  const own = opened !== undefined && opened.method === method && opened.provider === provider
  if (!own || !equal(opened.state, state)) return refuseCallback(method, 'state_mismatch')
  const id = digestOf(state)
  const context: Context = { ...contextOf(call, service), correlationId: id }
  const { startedAt, expiresAt } = opened
  const started = { login: id, method, ...(provider !== undefined && { provider }), startedAt, expiresAt }
  try {
    const { stored } = await service.execute(
      login,
      id,
      'ReturnToLogin',
      { ...started, now: service.now().toISOString() },
      context,
    )
    return { ...opened, id, stored, context: { ...context, causationId: stored.at(-1)!.id } }
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return refuseCallback(method, error.reason)
    throw error
  }
}

type Taken = Awaited<ReturnType<typeof takeLogin>>

/** Who came back, admitted; a login that ends otherwise is refused in its own stream too. */
const identify = async (
  { execute }: Service,
  way: LoginMethod,
  { id, context, ...taken }: Taken,
  query: URLSearchParams,
): Promise<Identity> => {
  try {
    const identity = await way.finish({ ...taken, query })
    return way.admits(identity.attributes) ? identity : refuse('email_not_allowed')
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal('internal')
    const providerError = providerErrorOf(refusal)
    const why = { login: id, reason: refusal.reason, ...(providerError !== undefined && { providerError }) }
    await execute(login, id, 'RefuseLogin', why, context)
    throw error
  }
}

/** The token of an identity, as an event: what is personal stands in the profile. */
const issued = (
  { now, settings, logins, digest }: Service,
  way: LoginMethod,
  { subject, attributes }: Identity,
  secret: string,
) => {
  const time = now()
  const { 'oidc.provider': provider, ...personal } = attributes
  return {
    id: randomUUID(),
    digest: digest(secret),
    method: way.method,
    issuedAt: time.toISOString(),
    expiresAt: new Date(time.getTime() + settings.session.tokenLifetime).toISOString(),
    attributes: provider === undefined ? {} : { 'oidc.provider': provider },
    metadata: {},
    ...(way.provider !== undefined && { provider: way.provider }),
    subject: logins.pseudonyms.subject(way.method, subject.issuer, subject.sub),
    identity: logins.pseudonyms.identity(way.method, subject.sub),
    profile: JSON.stringify(personal),
  }
}

const complete = async (service: Service, call: Request, way: LoginMethod): Promise<Answer> => {
  const { execute, cookies, names, settings, now, metrics } = service
  const { request, reply } = call
  if (!service.fresh()) refuse('backend_unavailable')
  const parameters = new URLSearchParams(rawQuery(request))
  const taken = await takeLogin(service, call, way, parameters)
  const identity = await identify(service, way, taken, parameters)

  const secret = mint(way.method)
  const data = { ...issued(service, way, identity, secret), login: taken.id }
  const { id, subject } = data
  const context = { ...taken.context, subject }
  const { stored } = await execute(token, id, 'IssueToken', data, context)
  const completed = { login: taken.id, tokenId: id, subject }
  const done = await execute(login, taken.id, 'CompleteLogin', completed, { ...context, causationId: stored[0]!.id })
  const { rows, headers } = await applyEvents(service, [...stored, ...done.stored])
  const { doc } = (rows as readonly Row<TokenDoc>[]).find(({ key }) => key === id)!
  cookies.setToken(request, reply, secret, settings.session.tokenLifetime)
  metrics.logins(way.provider ?? '-', 'completed').value++
  attemptSucceeded(service, request, way, id)
  // What was sealed a moment ago is at hand: the answer needs no key for it.
  const known = { open: async () => ({ text: data.profile }) }
  const body = { clientToken: '', authentication: await presentAuthentication(doc!, names, known, now()) }
  const plain = wants(request, 'application/json') && !wants(request, 'text/html')
  return plain ? { body, headers } : redirect(taken.returnTo, headers, body)
}

/** Finishes a login, or says why not: to a browser by sending it to the login page, to others as JSON. */
export const finishLogin = async (service: Service, call: Request, way: LoginMethod): Promise<Answer> => {
  const { cookies, metrics } = service
  const { request, reply, requestId } = call
  cookies.clearState(reply, way.callbackPath)
  try {
    return await complete(service, call, way)
  } catch (error) {
    metrics.logins(way.provider ?? '-', 'refused').value++
    attemptFailed(service, request, way, error instanceof Refusal ? error : new Refusal('internal'))
    if (!(error instanceof Refusal) || !wants(request, 'text/html')) throw error
    const shown = error.reason === 'provider_error' ? (error.metadata['error'] ?? error.reason) : error.reason
    const location = `${cookies.basePath(request)}/login?error=${shown}&ref=${requestId}`
    return redirect(location, { ...error.headers, ...(await position(service)) })
  }
}

/** The log's position; a log out of reach has none to tell, which is no reason to keep a browser from its page. */
const position = async (service: Service): Promise<Readonly<Record<string, string>>> => {
  try {
    return (await applyEvents(service, [] as readonly Stored[])).headers
  } catch (error) {
    if (error instanceof Refusal) return {}
    throw error
  }
}
