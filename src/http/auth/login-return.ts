import { createHash, timingSafeEqual } from 'node:crypto'
import { given, givenOnce, providerErrorOf, refuseCallback } from '../../auth/callback.ts'
import type { Identity } from '../../auth/identity.ts'
import type { Context } from '../../commands/envelope.ts'
import { login } from '../../commands/login.ts'
import { Refusal, refuse } from '../../errors.ts'
import { contextOf } from '../command-context.ts'
import type { Call } from '../route.ts'
import type { Service } from '../service.ts'
import type { LoginMethod } from './login-method.ts'

const digestOf = (state: string) => createHash('sha256').update(state).digest('hex')
const equal = (one: string, other: string) => timingSafeEqual(Buffer.from(digestOf(one)), Buffer.from(digestOf(other)))

/** The rules about the login itself; from here on it is used up. `context` is that of the events to come. */
export const takeLogin = async (
  service: Service,
  call: Call<unknown, unknown>,
  { method, provider }: LoginMethod,
  query: URLSearchParams,
) => {
  givenOnce(query)
  const [state, held] = [given(query, 'state'), service.cookies.states(call.request)]
  if (state === undefined || held[0] === undefined) return refuseCallback(method, 'state_missing')
  const opened = held.length === 1 ? service.logins.states.open(held[0]) : undefined
  const own = opened !== undefined && opened.method === method && opened.provider === provider
  if (!own || !equal(opened.state, state)) return refuseCallback(method, 'state_mismatch')
  const id = digestOf(state)
  const context: Context = { ...contextOf(call, service), correlationId: id }
  const { startedAt, expiresAt } = opened
  const started = { login: id, method, ...(provider !== undefined && { provider }), startedAt, expiresAt }
  const returned = { ...started, now: service.now().toISOString() }
  try {
    const { stored } = await service.execute(login, id, 'ReturnToLogin', returned, context)
    return { ...opened, id, context: { ...context, causationId: stored.at(-1)!.id } }
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return refuseCallback(method, error.reason)
    throw error
  }
}

/** Who came back, admitted; a login that ends otherwise is refused in its own stream too. */
export const identify = async (
  { execute }: Service,
  way: LoginMethod,
  { id, context, ...taken }: Awaited<ReturnType<typeof takeLogin>>,
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
