import { allowedSomewhere } from '../../../access/reach.ts'
import { bitOf } from '../../../access/rights.ts'
import { rowNow } from '../../../as-of/as-of.ts'
import { hasTokenForm } from '../../../auth/client-token.ts'
import { Refusal, refuse } from '../../../base/errors.ts'
import { version } from '../../../base/version.ts'
import { token } from '../../../commands/token.ts'
import { Nothing } from '../../../contract/answer.ts'
import { Expired, Session } from '../../../contract/login/login.ts'
import { Authentication, expiryBody, expiryQuery, SessionStarted } from '../../../contract/token.ts'
import { readable } from '../../../projections/projection.ts'
import { statusOf } from '../../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import { credential, sameOrigin, tellForeignPage } from '../../auth/credential.ts'
import { applyEvents, contextOf } from '../../commands/command-context.ts'
import { refusedLogin } from '../../login/login-page.ts'
import { beginLogout, forgetIdToken, providerOf } from '../../login/logout.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { allRoutes, route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginMount, LoginService } from '../../services/logins.ts'
import type { Caller } from '../../wire/caller.ts'

const rowOf = async ({ log }: LoginService, { actor }: Caller) => readable(await rowNow(log, tokens, actor.id!))

/** Record of the request's token, and its revision. */
const own = async (service: LoginService, caller: Caller) => {
  const row = await rowOf(service, caller)
  return row?.doc
    ? { doc: row.doc, revision: row.changes }
    : refuse('not_found', `authentication "${caller.actor.id}": resource not found`)
}

const shown = ({ names, sealer, now }: LoginService, doc: TokenDoc) => presentAuthentication(doc, names, sealer, now())

const getSelf: LoginMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/auth/v1/self',
    ...authentication,
    access: { credential: 'always', namespace: 'none', right: 'self.use' },
    summary: 'Get the record of the token in use.',
    answer: Authentication,
    run: async ({ caller }) => {
      const { doc, revision } = await own(service, caller)
      return { body: await shown(service, doc), etag: String(revision) }
    },
  })

const expireSelf: LoginMount = (app, service) => {
  const { execute, now, cookies } = service
  route(app, {
    method: 'PUT',
    url: '/auth/v1/self/expire',
    ...authentication,
    access: { credential: 'always', namespace: 'none', right: 'self.use' },
    summary: 'Set an earlier expiry for the token in use. Without expiresAt the token expires at once.',
    writes: 'always',
    query: expiryQuery,
    body: expiryBody,
    errors: ['expiry_not_earlier'],
    answer: Expired,
    run: async (call) => {
      const id = call.caller.actor.id!
      const time = now().toISOString()
      const expiresAt = call.query.expiresAt ?? call.body.expiresAt ?? time
      const provider = expiresAt <= time ? await providerOf(service, call.caller) : undefined
      const { stored } = await execute(
        token,
        id,
        'ExpireTokenEarlier',
        { id, expiresAt, now: time },
        contextOf(call, service),
      )
      const { headers } = await applyEvents(service, stored)
      if (call.caller.via === 'cookie') {
        cookies.clearToken(call.request, call.reply)
        forgetIdToken(service, call)
      }
      return { body: provider ? await beginLogout(service, call, provider) : {}, headers }
    },
  })
}

const SELF = bitOf('self.use')

/**
 * True if a token may read its own record. A token with grants needs `self.use`, so that the finder of a published
 * token learns nothing about its creator.
 */
const seesOwn = ({ reach }: Caller, { grants }: TokenDoc): boolean =>
  grants === undefined || (reach !== undefined && allowedSomewhere(reach, SELF))

const getSession: LoginMount = (app, service) => {
  const { settings, now } = service
  const { theme, topbarColor, topbarLabel } = settings.ui
  const ui = { theme, topbarColor, topbarLabel }
  route(app, {
    method: 'GET',
    url: '/auth/v1/self/session',
    ...authentication,
    access: { credential: 'welcome', namespace: 'any', right: 'none' },
    summary:
      'Get the identity of the caller, if it is known, and the data that the web UI needs before a person signs in.',
    answer: Session,
    run: async ({ caller, request }) => {
      const { required, readOnly } = settings
      const doc = caller.actor.kind === 'token' ? (await rowOf(service, caller))?.doc : undefined
      const known = doc !== undefined && statusOf(doc, now()) === 'ACTIVE'
      const refused = known ? undefined : refusedLogin(service, request)
      const own = known && seesOwn(caller, doc)
      return {
        body: {
          authenticated: known,
          required,
          ...(own && { authentication: await shown(service, doc) }),
          ...(known && doc.expiresAt !== undefined && { sessionEndsAt: doc.expiresAt }),
          ...(refused && { refused }),
          service: { name: 'rollcall' as const, readOnly, ...((own || !required) && { version }) },
          ui,
        },
      }
    },
  })
}

const startSession: LoginMount = (app, service) => {
  const { names, now, settings, cookies } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/self/session',
    ...authentication,
    access: { credential: 'bearer', namespace: 'none', right: 'self.use' },
    writes: false,
    summary: 'Store the bearer token in use in the session cookie of the browser.',
    answer: SessionStarted,
    run: async ({ caller, request, reply }) => {
      const { doc } = await own(service, caller)
      const given = credential(request, names.tokenCookie)
      if (given.kind !== 'bearer' || given.token === undefined) throw new Refusal('credential_missing')
      const life = doc.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(doc.expiresAt) - now().getTime()
      const lasts = Math.min(life, settings.session.tokenLifetime)
      cookies.setToken(request, reply, given.token, lasts)
      const sessionEndsAt = new Date(now().getTime() + lasts).toISOString()
      return { body: { authentication: await shown(service, doc), sessionEndsAt } }
    },
  })
}

const endSession: LoginMount = (app, service) => {
  const { settings, cookies, verifier } = service
  const fromOwnPages = sameOrigin({ publicUrl: settings.publicUrl, trustedOrigins: settings.session.trustedOrigins })
  route(app, {
    method: 'DELETE',
    url: '/auth/v1/self/session',
    ...authentication,
    access: { credential: 'public' },
    writes: false,
    summary: 'Clear the session cookie; the token stays valid.',
    errors: ['auth_stale'],
    answer: Nothing,
    run: async (call) => {
      const { request, reply } = call
      const exempt = request.headers.authorization !== undefined || !cookies.hasToken(request)
      if (!exempt && !fromOwnPages(request)) {
        tellForeignPage(service, request)
        refuse('cross_site')
      }
      const token = cookies.token(request)
      // A token of another installation on this host is not cleared.
      if (token === undefined || !hasTokenForm(token) || (await verifier.look(token)).isOurs)
        cookies.clearToken(request, reply)
      forgetIdToken(service, call)
      return { body: {} }
    },
  })
}

/** The caller's own record: /auth/v1/self* (api.md §5.4 A2, A3, A13, A14). */
export const authSelfRoutes = allRoutes(getSelf, expireSelf, getSession, startSession, endSession)
