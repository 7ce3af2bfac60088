import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { given } from '../../auth/callback.ts'
import type { LoginState } from '../../auth/login-state.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginMethod, LoginServices } from '../services/logins.ts'
import { rawQuery } from '../wire/path.ts'

/** So many logins a browser has under way at one provider; the oldest goes. */
const MOST = 4
/** A state cookie outlives its login by this, so that a late callback is told that the login took too long. */
const AFTER_MS = 3_600_000

type Holding = Pick<LoginServices, 'cookies' | 'logins'>

/** A login that a browser holds the cookie of: its id, which is the hash of its state, and what the cookie says. */
type HeldLogin = { readonly id: string; readonly cookie: string; readonly login: LoginState }

const idOf = (state: string) => createHash('sha256').update(state).digest('hex')
const equal = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** The login that a callback names by its state; undefined unless the browser holds its cookie. */
export const heldLogin = ({ cookies, logins }: Holding, request: FastifyRequest): HeldLogin | undefined => {
  const state = given(new URLSearchParams(rawQuery(request)), 'state')
  if (state === undefined) return undefined
  const id = idOf(state)
  const cookie = cookies.stateName(id)
  const sealed = cookies.states(request).get(cookie)
  const login = sealed === undefined ? undefined : logins.states.open(sealed)
  return login && equal(idOf(login.state), id) ? { id, cookie, login } : undefined
}

/** The page that a callback's login began at: that of its state, or else of the only login that the browser holds. */
export const returnToOf = (service: Holding, request: FastifyRequest): string | undefined => {
  const { cookies, logins } = service
  const [only, ...others] = cookies.states(request).values()
  const held = heldLogin(service, request)?.login
  return (held ?? (only === undefined || others.length > 0 ? undefined : logins.states.open(only)))?.returnTo
}

/** Lets the browser hold a login, and no more than a few of them. */
export const holdLogin = (
  { cookies, logins, settings }: Pick<LoginServices, 'cookies' | 'logins'> & Pick<InstanceServices, 'settings'>,
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
