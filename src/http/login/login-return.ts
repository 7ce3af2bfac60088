import type { Identity } from '../../auth/identity.ts'
import { given, givenOnce, providerErrorOf, refuseCallback } from '../../auth/oidc/callback.ts'
import { refusalFor } from '../../auth/refusal-details.ts'
import type { Context } from '../../commands/envelope.ts'
import { login } from '../../commands/login.ts'
import { foldAfter } from '../../commands/stream-folds.ts'
import { isRefusal, Refusal } from '../../errors.ts'
import { contextOf } from '../commands/command-context.ts'
import type { Call } from '../route/route.ts'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginMethod, LoginServices } from '../services/logins.ts'
import type { RecordingServices } from '../services/recording.ts'
import { grantsForLogin } from './grants-for-login.ts'
import { heldLogin } from './held-logins.ts'
import { subjectOf } from './recorded-subject.ts'

/**
 * Checks the state of a callback and uses up its login; other pending logins stay. `context` and `fold` are for the
 * commands that follow.
 */
export const takeLogin = async (
  service: CommandServices & LoginServices,
  call: Call<unknown, unknown>,
  { method, provider, callbackPath }: LoginMethod,
  query: URLSearchParams,
) => {
  const { cookies } = service
  givenOnce(query)
  if (given(query, 'state') === undefined || cookies.states(call.request).size === 0)
    return refuseCallback(method, 'state_missing')
  const held = heldLogin(service, call.request)
  if (held?.login.method !== method || held.login.provider !== provider) return refuseCallback(method, 'state_mismatch')
  cookies.clearState(call.reply, held.cookie, callbackPath)
  const { id, login: opened } = held
  const context: Context = { ...contextOf(call, service), correlationId: id }
  const { startedAt, expiresAt } = opened
  const started = { login: id, method, ...(provider !== undefined && { provider }), startedAt, expiresAt }
  const returned = { ...started, now: service.now().toISOString() }
  try {
    const outcome = await service.execute(login, id, 'ReturnToLogin', returned, context)
    const causationId = outcome.stored.at(-1)!.id
    return { ...opened, id, fold: foldAfter(outcome), context: { ...context, causationId } }
  } catch (error) {
    for (const fault of ['login_expired', 'login_replayed'] as const)
      if (isRefusal(error, fault)) return refuseCallback(method, fault)
    throw error
  }
}

const REDUCED =
  'the provider sends more claims of a person than are stored: claims without a rule are dropped, so a later rule can miss them until the next login; configure the provider to send fewer groups'

/** Decides by the rules of the configuration about an identity. */
const judge = async (
  service: InstanceServices & AuthServices & RecordingServices,
  loginMethod: LoginMethod,
  identity: Identity,
) => {
  const { attributes, reduced } = identity
  const { method, provider } = loginMethod
  if (reduced) service.warn(`reduced ${method} ${provider}`, { method, ...(provider && { provider }) }, REDUCED)
  const bar = loginMethod.barOf(attributes)
  if (bar !== undefined) throw refusalFor(bar)
  return { identity, granted: await grantsForLogin(service, subjectOf({ ...loginMethod, attributes }, attributes)) }
}

/**
 * Obtains the identity, passes it to `onKnown` as soon as it is known, and decides about it. A failure is also recorded
 * in the login's stream.
 */
export const identify = async (
  service: InstanceServices & CommandServices & AuthServices & LoginServices & RecordingServices,
  loginMethod: LoginMethod,
  { id, context, fold, ...taken }: Awaited<ReturnType<typeof takeLogin>>,
  query: URLSearchParams,
  onKnown: (who: Identity) => void,
): Promise<Awaited<ReturnType<typeof judge>>> => {
  try {
    const identity = await loginMethod.finish({ ...taken, query }, onKnown)
    onKnown(identity)
    return await judge(service, loginMethod, identity)
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal('internal')
    const providerError = providerErrorOf(refusal)
    const why = { login: id, reason: refusal.reason, ...(providerError !== undefined && { providerError }) }
    await service.execute(login, id, 'RefuseLogin', why, context, fold)
    throw error
  }
}
