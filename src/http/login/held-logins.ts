import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { given } from '../../auth/oidc/callback.ts'
import type { LoginState } from '../../auth/sealed.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginMethod, LoginServices } from '../services/logins.ts'
import { rawQuery } from '../wire/path.ts'

/** Maximum number of pending logins for each browser and provider. A further login removes the oldest one. */
const MOST = 4
/** Extra lifetime of a state cookie (ms), so that a late callback is reported as an expired login. */
const AFTER_MS = 3_600_000

type Holding = Pick<LoginServices, 'cookies' | 'logins'>

/** A login whose cookie the browser has: its id, which is the hash of its state, and the content of the cookie. */
type HeldLogin = { readonly id: string; readonly cookie: string; readonly login: LoginState }

const idOf = (state: string) => createHash('sha256').update(state).digest('hex')
const equal = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

/**
 * Returns the login that the state of a callback names; undefined if the browser does not send the cookie of this
 * login.
 */
export const heldLogin = (
  { cookies, logins }: Holding,
  request: FastifyRequest,
  query = new URLSearchParams(rawQuery(request)),
): HeldLogin | undefined => {
  const state = given(query, 'state')
  if (state === undefined) return undefined
  const id = idOf(state)
  const cookie = cookies.stateName(id)
  const sealed = cookies.states(request).get(cookie)
  const login = sealed === undefined ? undefined : logins.states.open(sealed)
  return login && equal(idOf(login.state), id) ? { id, cookie, login } : undefined
}

/** Page at which the login of a callback began: by its state, else of the only pending login in the browser. */
export const returnToOf = (service: Holding, request: FastifyRequest): string | undefined => {
  const { cookies, logins } = service
  const [only, ...others] = cookies.states(request).values()
  const held = heldLogin(service, request)?.login
  return (held ?? (only === undefined || others.length > 0 ? undefined : logins.states.open(only)))?.returnTo
}

/** Sets the state cookie of a login and removes the oldest ones beyond the limit. */
export const holdLogin = (
  { cookies, logins, settings }: Pick<LoginServices, 'cookies' | 'logins'> & Pick<CommandServices, 'settings'>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { callbackPath }: LoginMethod,
  login: LoginState,
): void => {
  const startOf = (sealed = '') => logins.states.open(sealed)?.startedAt ?? ''
  const older = [...cookies.states(request)]
    .map(([name, sealed]) => ({ name, start: startOf(sealed) }))
    .toSorted((one, other) => (one.start < other.start ? 1 : -1))
  for (const { name } of older.slice(MOST - 1)) cookies.clearState(reply, name, callbackPath)
  const life = settings.session.stateLifetime + AFTER_MS
  cookies.setState(reply, cookies.stateName(idOf(login.state)), logins.states.seal(login), callbackPath, life)
}
