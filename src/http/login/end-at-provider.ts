import type { FastifyRequest } from 'fastify'
import { withTimeout } from '../../base/clock.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import { contextOf } from '../commands/command-context.ts'
import { addressKey } from '../memory/address-key.ts'
import type { Call } from '../route/route.ts'
import type { LoginMethod, LoginService } from '../services/logins.ts'
import { attemptTurnedAway, turnedAway } from './login-attempts.ts'

/** Time in ms after which the provider receives an answer, because providers wait for 5 s. */
export const DEADLINE_MS = 4_500
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const FIELD = 'logout_token'

const refuseForm = (why: string): never => refuse('logout_token_invalid', `logout token was refused: ${why}`)

/** The logout token in the form of a request. */
const tokenIn = ({ headers, bytes }: FastifyRequest): string => {
  if (!FORM.test(headers['content-type'] ?? '')) refuseForm('the body is not a form')
  const [token, ...others] = new URLSearchParams(bytes?.toString('utf8')).getAll(FIELD)
  if (others.length > 0) refuseForm('the form has two of them')
  return token || refuseForm('the form has none')
}

/**
 * Ends the sessions that the logout token of a provider names. Resolves when the ends are durable. After 4.5 s the
 * request is refused with `busy`, and the logout continues. A refused token is counted and recorded. Beyond the limit of
 * an address, refused tokens get 429, and valid ones are accepted.
 */
export const endAtProvider = async (
  service: LoginService,
  call: Call<unknown, unknown>,
  { method, provider, readLogoutToken }: LoginMethod,
): Promise<void> => {
  const { reported } = service.logins
  const { request } = call
  const address = addressKey(request.address)
  const attempt = { method, provider, isLogout: true } as const
  const work = async (): Promise<void> => {
    if (!service.fresh()) refuse('backend_unavailable')
    const token = await readLogoutToken!(tokenIn(request))
    const sessions = await reported.end(provider!, token, contextOf(call, service))
    service.lines.tell(
      { requestId: request.id, method, provider, sessions },
      'a logout token ended the sessions of a person',
    )
  }
  const done = reported.gate.run(work, { holder: address }).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    if (error.status === 400) {
      const turned = turnedAway(service, request, attempt, reported.failures, address)
      if (turned) throw turned
      reported.failures.count(address)
    }
    attemptTurnedAway(service, request, attempt, error)
    throw error
  })
  await withTimeout(service.clock, DEADLINE_MS, done, () => refuse('busy'))
}
