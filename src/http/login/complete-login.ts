import type { Identity } from '../../auth/identity.ts'
import { given, givenOnce, providerErrorOf, refuseCallback } from '../../auth/oidc/callback.ts'
import { refusalFor } from '../../auth/refusal-details.ts'
import { isRefusal, Refusal, refuse } from '../../base/errors.ts'
import type { Context } from '../../commands/envelope.ts'
import { login } from '../../commands/login.ts'
import { foldAfter } from '../../commands/stream-folds.ts'
import type { Shown } from '../../contract/answer.ts'
import type { LoggedIn } from '../../contract/login/login.ts'
import { issueToken } from '../auth/issue-token.ts'
import { applyEvents, contextOf } from '../commands/command-context.ts'
import { presentAuthentication } from '../present/authentication.ts'
import type { Call } from '../route/route.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginMethod, LoginService } from '../services/logins.ts'
import { takes } from '../wire/headers.ts'
import { rawQuery } from '../wire/path.ts'
import { type Answer, redirect } from '../wire/reply.ts'
import { type Admitted, admit, type Granted, grantsForLogin, type Refused, subjectOf } from './admission.ts'
import { heldLogin } from './held-logins.ts'
import { attemptFailed, attemptSucceeded } from './login-attempts.ts'
import { isAhead, isPerson, rememberRefused } from './login-page.ts'
import { keepIdToken } from './logout.ts'

type Request = Call<unknown, unknown>
type Completed = Shown<typeof LoggedIn>

const REDUCED =
  'the provider sends more claims about a person than can be stored, so claims that no access rule uses are dropped, and rules that are configured later cannot use these claims before the next login; configure the provider to send fewer groups'

const refusalOf = (error: unknown): Refusal => (error instanceof Refusal ? error : new Refusal('internal'))

/**
 * Checks the state of a callback and marks its login as used. All other pending logins of the browser stay valid.
 * `context` and `fold` are for the commands that follow, `position` is that of the callback in the log.
 */
const takeLogin = async (
  service: LoginService,
  call: Request,
  { method, provider, callbackPath }: LoginMethod,
  query: URLSearchParams,
) => {
  const { cookies } = service
  givenOnce(query)
  const held = heldLogin(service, call.request, query)
  if (held?.login.method !== method || held.login.provider !== provider) {
    const isMissing = given(query, 'state') === undefined || cookies.states(call.request).size === 0
    return refuseCallback(method, isMissing ? 'state_missing' : 'state_mismatch')
  }
  cookies.clearState(call.reply, held.cookie, callbackPath)
  const { id, login: state } = held
  const context: Context = { ...contextOf(call, service), correlationId: id }
  const { startedAt, expiresAt } = state
  const started = { login: id, method, ...(provider !== undefined && { provider }), startedAt, expiresAt }
  const returned = { ...started, now: service.now().toISOString() }
  try {
    const outcome = await service.execute(login, id, 'ReturnToLogin', returned, context)
    const { id: causationId, position } = outcome.stored.at(-1)!
    return { id, state, position, fold: foldAfter(outcome), context: { ...context, causationId } }
  } catch (error) {
    for (const fault of ['login_expired', 'login_replayed'] as const)
      if (isRefusal(error, fault)) return refuseCallback(method, fault)
    throw error
  }
}
type Taken = Awaited<ReturnType<typeof takeLogin>>

/** Grants of the rules for an identity. Refuses an identity that the restrictions of its provider exclude. */
const grantsOf = async (service: LoginService, loginMethod: LoginMethod, identity: Identity): Promise<Granted> => {
  const { attributes, reduced, barred } = identity
  const { method, provider } = loginMethod
  if (barred !== undefined) throw refusalFor(barred)
  if (reduced) service.lines.warn(`reduced ${method} ${provider}`, { method, ...(provider && { provider }) }, REDUCED)
  const cause = loginMethod.barOf(attributes)
  if (cause !== undefined) throw refusalFor(cause)
  return grantsForLogin(service, subjectOf({ ...loginMethod, attributes }, attributes))
}

/** Records a refusal in the login's stream. */
const recordRefusal = async (
  { execute }: LoginService,
  { id, context, fold }: Taken,
  error: unknown,
): Promise<void> => {
  const refusal = refusalOf(error)
  const providerError = providerErrorOf(refusal)
  const why = { login: id, reason: refusal.reason, ...(providerError !== undefined && { providerError }) }
  await execute(login, id, 'RefuseLogin', why, context, fold)
}

/** Token of an identity; personal attributes go into the profile. */
const tokenOf = (
  { now, settings, logins }: LoginService,
  { method, provider: name }: LoginMethod,
  { subject, attributes, providerSession }: Identity,
) => {
  const { 'oidc.provider': provider, ...personal } = attributes
  const sid = providerSession?.sid
  return {
    method,
    expiresAt: new Date(now().getTime() + settings.session.tokenLifetime).toISOString(),
    attributes: provider === undefined ? {} : { 'oidc.provider': provider },
    ...(name !== undefined && { provider: name }),
    subject: logins.pseudonyms.subject(method, subject.issuer, subject.sub),
    identity: logins.pseudonyms.identity(method, subject.sub),
    ...(sid !== undefined && { providerSession: logins.pseudonyms.session(subject.issuer, sid) }),
    profile: JSON.stringify(personal),
  }
}

/**
 * Issues the token of an admitted login, completes the login's stream, and answers with the token's cookie. Returns the
 * refusal if the provider has signed the person out during the login.
 */
const issue = async (
  service: LoginService,
  call: Request,
  loginMethod: LoginMethod,
  { id, state, position: since, fold, context: taken }: Taken,
  { identity, granted }: Admitted<Identity, Granted>,
): Promise<{ readonly answer: Answer<Completed> } | { readonly refused: Refusal }> => {
  const { execute, cookies, names, settings, metrics } = service
  const { request, reply } = call
  const grant = { ...tokenOf(service, loginMethod, identity), ...granted, login: id }
  const { profile, subject } = grant
  const context = { ...taken, subject }
  const { clientToken, doc, at, stored } = await issueToken(service, grant, context)
  const completed = { login: id, tokenId: doc.id, subject }
  const after = { ...context, causationId: stored[0]!.id }
  const { providerSession: session } = identity
  const signIn = { ...grant, provider: loginMethod.provider!, tokenId: doc.id, since }
  const refused = session && (await service.logins.reported.refusalOf({ ...signIn, issuedAt: session.issuedAt }, after))
  if (refused) return { refused }
  const { headers } = await applyEvents(
    service,
    (await execute(login, id, 'CompleteLogin', completed, after, fold)).stored,
  )
  cookies.setToken(request, reply, clientToken, settings.session.tokenLifetime)
  const { idToken } = identity
  if (idToken !== undefined)
    await keepIdToken(service, call, loginMethod, { idToken, clientToken, subject, expiresAt: grant.expiresAt })
  metrics.logins(loginMethod.provider ?? '-', 'completed').value++
  attemptSucceeded(service, request, loginMethod, doc.id)
  // The encryption key of the profile is still in memory, so the answer needs no read of the key.
  const known = { open: async () => ({ text: profile }) }
  const body: Completed = { clientToken: '', authentication: await presentAuthentication(doc, names, known, at) }
  const plain = takes(request.headers, 'application/json') && !takes(request.headers, 'text/html')
  return { answer: plain ? { body, headers } : redirect(state.returnTo, headers, body) }
}

/**
 * Steps of a callback: use up the login, obtain the identity and its grants, then issue the token or record the
 * refusal. An error of another step is thrown.
 */
const callback = async (
  service: LoginService,
  call: Request,
  loginMethod: LoginMethod,
): Promise<{ readonly answer: Answer<Completed> } | Refused<Identity>> => {
  if (!service.fresh()) refuse('backend_unavailable')
  const query = new URLSearchParams(rawQuery(call.request))
  const taken = await takeLogin(service, call, loginMethod, query)
  const admission = await admit(loginMethod.finish({ ...taken.state, query }), (identity) =>
    grantsOf(service, loginMethod, identity),
  )
  const outcome = 'refused' in admission ? admission : await issue(service, call, loginMethod, taken, admission)
  if ('refused' in outcome) await recordRefusal(service, taken, outcome.refused)
  return outcome
}

/** Newest position of the log; undefined if the log is unreachable, because the browser must still receive its page. */
const position = async (service: CommandServices): Promise<Readonly<Record<string, string>>> => {
  try {
    return (await applyEvents(service, [])).headers
  } catch (error) {
    if (error instanceof Refusal) return {}
    throw error
  }
}

/** Completes a login, or refuses it. A refusal is counted and logged, and a browser receives the data of its page. */
export const completeLogin = async (
  service: LoginService,
  call: Request,
  loginMethod: LoginMethod,
): Promise<Answer<Completed>> => {
  const { request, reply } = call
  if (isAhead(request)) refuse('invalid_header', 'invalid header Sec-Purpose: a login is not finished ahead of time')
  const outcome = await callback(service, call, loginMethod).catch((refused: unknown) => ({ refused }))
  if ('answer' in outcome) return outcome.answer
  const { refused, identity }: Refused<Identity> = outcome
  service.metrics.logins(loginMethod.provider ?? '-', 'refused').value++
  attemptFailed(service, request, loginMethod, refusalOf(refused))
  if (isPerson(service, request)) {
    if (identity && refused instanceof Refusal) rememberRefused(service, request, reply, loginMethod, identity, refused)
    reply.headers(await position(service))
  }
  throw refused
}
