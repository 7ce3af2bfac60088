import type { Identity } from '../../auth/identity.ts'
import { login } from '../../commands/login.ts'
import type { Shown } from '../../contract/answer.ts'
import type { LoggedIn } from '../../contract/login.ts'
import { Refusal, refuse } from '../../errors.ts'
import { issueToken } from '../auth/issue-token.ts'
import { applyEvents } from '../commands/command-context.ts'
import { presentAuthentication } from '../present/authentication.ts'
import type { Call } from '../route/route.ts'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginMethod, LoginServices } from '../services/logins.ts'
import type { RecordingServices } from '../services/recording.ts'
import { takes } from '../wire/headers.ts'
import { rawQuery } from '../wire/path.ts'
import { type Answer, redirect } from '../wire/reply.ts'
import { isAhead, isPerson } from './login-page.ts'
import { rememberRefused } from './login-refused.ts'
import { identify, takeLogin } from './login-return.ts'
import { attemptFailed, attemptSucceeded } from './login-throttle.ts'

type Request = Call<unknown, unknown>

/** Token of an identity; personal attributes go into the profile. */
const tokenOf = (
  { now, settings, logins }: InstanceServices & CommandServices & LoginServices,
  { method, provider: name }: LoginMethod,
  { subject, attributes }: Identity,
) => {
  const { 'oidc.provider': provider, ...personal } = attributes
  return {
    method,
    expiresAt: new Date(now().getTime() + settings.session.tokenLifetime).toISOString(),
    attributes: provider === undefined ? {} : { 'oidc.provider': provider },
    ...(name !== undefined && { provider: name }),
    subject: logins.pseudonyms.subject(method, subject.issuer, subject.sub),
    identity: logins.pseudonyms.identity(method, subject.sub),
    profile: JSON.stringify(personal),
  }
}

type Completed = Shown<typeof LoggedIn>

const complete = async (
  service: InstanceServices & CommandServices & AuthServices & LoginServices & RecordingServices,
  call: Request,
  loginMethod: LoginMethod,
  onKnown: (identity: Identity) => void,
): Promise<Answer<Completed>> => {
  const { execute, cookies, names, settings, now, metrics } = service
  const { request, reply } = call
  if (!service.fresh()) refuse('backend_unavailable')
  const query = new URLSearchParams(rawQuery(request))
  const taken = await takeLogin(service, call, loginMethod, query)
  const { identity, granted } = await identify(service, loginMethod, taken, query, onKnown)
  const grant = { ...tokenOf(service, loginMethod, identity), ...granted }
  const { profile, subject } = grant

  const context = { ...taken.context, subject }
  const { clientToken, doc, stored } = await issueToken(service, { ...grant, login: taken.id }, context)
  const completed = { login: taken.id, tokenId: doc.id, subject }
  const after = { ...context, causationId: stored[0]!.id }
  const { headers } = await applyEvents(
    service,
    (await execute(login, taken.id, 'CompleteLogin', completed, after, taken.fold)).stored,
  )
  cookies.setToken(request, reply, clientToken, settings.session.tokenLifetime)
  metrics.logins(loginMethod.provider ?? '-', 'completed').value++
  attemptSucceeded(service, request, loginMethod, doc.id)
  // The profile sealed above is still in memory, so the answer needs no key to open it.
  const known = { open: async () => ({ text: profile }) }
  const body: Completed = { clientToken: '', authentication: await presentAuthentication(doc, names, known, now()) }
  const plain = takes(request.headers, 'application/json') && !takes(request.headers, 'text/html')
  return plain ? { body, headers } : redirect(taken.returnTo, headers, body)
}

/** Completes a login, or refuses it. */
export const finishLogin = async (
  service: InstanceServices & CommandServices & AuthServices & LoginServices & RecordingServices,
  call: Request,
  loginMethod: LoginMethod,
): Promise<Answer<Completed>> => {
  const { metrics } = service
  const { request, reply } = call
  if (isAhead(request)) refuse('invalid_header', 'invalid header Sec-Purpose: a login is not finished ahead of time')
  let known: Identity | undefined
  try {
    return await complete(service, call, loginMethod, (identity) => (known = identity))
  } catch (error) {
    metrics.logins(loginMethod.provider ?? '-', 'refused').value++
    attemptFailed(service, request, loginMethod, error instanceof Refusal ? error : new Refusal('internal'))
    if (!isPerson(service, request)) throw error
    if (known && error instanceof Refusal) rememberRefused(service, request, reply, loginMethod, known, error)
    reply.headers(await position(service))
    throw error
  }
}

/** Position of the log; none if the log is unreachable, because the browser must still receive its page. */
const position = async (service: CommandServices): Promise<Readonly<Record<string, string>>> => {
  try {
    return (await applyEvents(service, [])).headers
  } catch (error) {
    if (error instanceof Refusal) return {}
    throw error
  }
}
