import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { given, givenOnce, refuseCallback } from '../../auth/callback.ts'
import { freshSecrets } from '../../auth/identity.ts'
import { mint } from '../../auth/secret.ts'
import { login } from '../../commands/login.ts'
import { token } from '../../commands/token.ts'
import { Refusal, refuse } from '../../errors.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { type Answer, redirect } from '../answer.ts'
import { Authentication, presentAuthentication } from '../authentication.ts'
import { basePath } from '../cookies.ts'
import { addressKey } from '../credential.ts'
import { text } from '../fields.ts'
import { query } from '../input.ts'
import type { LoginWay } from '../logins.ts'
import { rawQuery } from '../path.ts'
import { type Call, route } from '../route.ts'
import type { Service } from '../service.ts'
import { contextOf, settled } from '../write.ts'

const digestOf = (state: string) => createHash('sha256').update(state).digest('hex')
const equal = (one: string, other: string) => timingSafeEqual(Buffer.from(digestOf(one)), Buffer.from(digestOf(other)))
const wants = (request: FastifyRequest, type: string) => request.headers.accept?.includes(type) ?? false

/** A path on this origin as the browser sees it; anything else is the base path (api.md §5.5). */
export const safeReturn = (path: string | undefined, base: string): string =>
  path !== undefined && path.length <= 2048 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : `${base}/`

/** Authorize and callback of one way to log in, or of the ways that a path parameter tells apart (api.md §5.5, §5.6). */
export const loginRoutes = (
  app: FastifyInstance,
  service: Service,
  path: string,
  wayOf: (params: Readonly<Record<string, string>>) => LoginWay,
): void => {
  const { execute, cookies, names, sealer, settings, now, digest, logins, refusals, metrics } = service

  const limited = (request: FastifyRequest) => {
    const client = addressKey(request.ip)
    if (settings.rateLimited && logins.attempts.exhausted(client)) {
      refuse('rate_limited', undefined, { headers: { 'retry-after': String(logins.attempts.retryAfter()) } })
    }
    logins.attempts.count(client)
  }

  route(app, {
    method: 'GET',
    url: `${path}/authorize`,
    access: 'public',
    tag: 'Authentication',
    summary: 'Begin a login: the address to send the browser to, and a cookie that binds the login to it.',
    query: query({ returnTo: text({ stored: false }) }),
    errors: ['provider_unavailable', 'rate_limited'],
    answer: Type.Object({ authorizeUrl: Type.String() }),
    run: async (call) => {
      const { request, reply, params } = call
      limited(request)
      const way = wayOf(params)
      const { method, provider, callbackPath } = way
      const secrets = freshSecrets()
      const authorizeUrl = String(await way.begin(secrets))
      const time = now()
      const data = {
        login: digestOf(secrets.state),
        method,
        ...(provider !== undefined && { provider }),
        startedAt: time.toISOString(),
        expiresAt: new Date(time.getTime() + settings.session.stateLifetime).toISOString(),
      }
      const { stored } = await execute(login, data.login, 'StartLogin', data, contextOf(call, service))
      const returnTo = safeReturn(call.query.returnTo, basePath(request, settings))
      const state = logins.states.seal({ ...secrets, method, ...(provider !== undefined && { provider }), returnTo })
      cookies.setState(reply, state, callbackPath, Math.floor(settings.session.stateLifetime / 1000))
      const { headers } = await settled(service, stored)
      return { body: { authorizeUrl }, headers }
    },
  })

  /** The rules about the login itself; uses it up. */
  const taken = async (call: Call<unknown, unknown>, way: LoginWay, parameters: URLSearchParams) => {
    const { callback, method, provider } = way
    givenOnce(parameters)
    const [state, cookie] = [given(parameters, 'state'), cookies.state(call.request)]
    if (state === undefined || cookie === undefined) return refuseCallback(callback, 'state_missing')
    const held = logins.states.open(cookie)
    const own = held !== undefined && held.method === method && held.provider === provider
    if (!own || !equal(held.state, state)) return refuseCallback(callback, 'state_mismatch')
    const id = digestOf(state)
    try {
      await execute(login, id, 'ReturnToLogin', { login: id, method, provider, now: now().toISOString() }, contextOf(call, service))
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return refuseCallback(callback, error.reason)
      throw error
    }
    return { ...held, id }
  }

  const complete = async (call: Call<unknown, unknown>, way: LoginWay): Promise<Answer> => {
    const { request, reply } = call
    limited(request)
    const parameters = new URLSearchParams(rawQuery(request))
    const held = await taken(call, way, parameters)
    const context = contextOf(call, service)
    try {
      const identity = await way.finish({ ...held, query: parameters })
      if (!way.admits(identity.attributes)) refuse('email_not_allowed')
      const subject = logins.subject(way.method, identity.subject.issuer, identity.subject.sub)
      const time = now()
      const secret = mint('login')
      const { 'oidc.provider': provider, ...personal } = identity.attributes
      const data = {
        id: randomUUID(),
        digest: digest(secret),
        method: way.method,
        issuedAt: time.toISOString(),
        expiresAt: new Date(time.getTime() + settings.session.tokenLifetime).toISOString(),
        attributes: provider === undefined ? {} : { 'oidc.provider': provider },
        metadata: {},
        ...(way.provider !== undefined && { provider: way.provider }),
        subject,
        login: held.id,
        profile: JSON.stringify(personal),
      }
      const caused = { ...context, subject, correlationId: held.id }
      const issued = await execute(token, data.id, 'IssueToken', data, caused)
      const done = await execute(
        login,
        held.id,
        'CompleteLogin',
        { login: held.id, tokenId: data.id, subject },
        { ...caused, causationId: issued.stored[0]!.id },
      )
      const { rows, headers } = await settled(service, [...issued.stored, ...done.stored])
      const { doc } = (rows as readonly Row<TokenDoc>[]).find(({ key }) => key === data.id)!
      cookies.setToken(request, reply, secret, Math.floor(settings.session.tokenLifetime / 1000))
      metrics.logins(way.provider ?? '-', 'completed').value++
      const body = { clientToken: '', authentication: await presentAuthentication(doc!, names, sealer, now()) }
      const plain = wants(request, 'application/json') && !wants(request, 'text/html')
      return plain ? { body, headers } : redirect(held.returnTo, headers, body)
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('internal')
      const providerError = refusal.metadata['error']
      const why = { login: held.id, reason: refusal.reason, ...(providerError !== undefined && { providerError }) }
      await execute(login, held.id, 'RefuseLogin', why, context)
      throw error
    }
  }

  route(app, {
    method: 'GET',
    url: `${path}/callback`,
    access: 'public',
    tag: 'Authentication',
    summary: 'Finish a login: sets the token cookie and sends the browser back.',
    errors: [
      'state_missing',
      'state_mismatch',
      'login_expired',
      'login_replayed',
      'code_refused',
      'provider_error',
      'provider_unavailable',
    ],
    answer: Type.Object({ clientToken: Type.String(), authentication: Authentication }),
    run: async (call) => {
      const { request, reply, params, requestId } = call
      const way = wayOf(params)
      cookies.clearState(reply, way.callbackPath)
      try {
        return await complete(call, way)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        metrics.logins(way.provider ?? '-', 'refused').value++
        const { provider } = way
        refusals.note({
          reason: error.reason,
          route: call.route,
          requestId,
          network: addressKey(request.ip),
          ...(provider && { provider }),
          attempt: true,
        })
        if (!wants(request, 'text/html')) throw error
        const shown = error.metadata['error'] ?? error.reason
        return redirect(`${basePath(request, settings)}/login?error=${encodeURIComponent(shown)}&ref=${requestId}`, error.headers)
      }
    },
  })
}
