import type { FastifyReply, FastifyRequest } from 'fastify'
import { rowAt } from '../../audit/as-of.ts'
import { Refusal } from '../../errors.ts'
import { tokens } from '../../projections/tokens.ts'
import type { TokenEntry } from '../../projections/token-index.ts'
import { times } from '../wire/framing.ts'
import type { Cell } from '../operations/metrics.ts'
import { addressKey, type Credential, credential, foreignPage, sameOrigin } from './credential.ts'
import type { Access, Authorize, Caller } from '../route.ts'
import type { Service } from '../service.ts'

const nobody: Caller = { actor: { kind: 'anonymous' }, via: 'none' }

/** The reach is decided by the route's own check of the body. */
const BODY = Symbol('body')
type Rule = {
  /** True when the route needs no credential (api.md §3.2). */
  readonly open: (service: Service) => boolean
  /** The namespace that the path (or a header) addresses; undefined is out of reach for every namespaced token (§3.3). */
  readonly reach: (request: FastifyRequest, service: Service) => string | undefined | typeof BODY
}

const param = (request: FastifyRequest, name: string) => (request.params as Record<string, string | undefined>)[name]
const openUnlessRequired = ({ settings }: Service) => !settings.required
const openFor =
  (group: 'management' | 'evaluation' | 'ofrep') =>
  ({ settings }: Service) =>
    !settings.required || settings.exclude[group]
const nowhere = () => undefined
const unsafe = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** The namespace that the namespace header means (api.md §10). */
export const namespaceHeader = ({ headers }: FastifyRequest, { names }: Pick<Service, 'names'>): string => {
  const header = headers[names.namespaceHeader]
  return typeof header === 'string' && header !== '' ? header : 'default'
}

/** The rules of every route group. */
const rules: Readonly<Record<Exclude<Access, 'public'>, Rule>> = {
  self: { open: () => false, reach: nowhere },
  bearer: { open: () => false, reach: nowhere },
  unscoped: { open: openUnlessRequired, reach: nowhere },
  management: { open: openFor('management'), reach: (request) => param(request, 'namespaceKey') ?? 'default' },
  namespaces: { open: openFor('management'), reach: nowhere },
  legacy: { open: openFor('management'), reach: () => BODY },
  evaluation: { open: openFor('evaluation'), reach: () => BODY },
  snapshot: { open: openFor('evaluation'), reach: (request) => param(request, 'key') },
  ofrep: {
    open: openFor('ofrep'),
    reach: namespaceHeader,
  },
}

/** Refuses a namespaced token outside its reach: the same answer whether or not the target exists. */
export const outOfReach = (): Refusal =>
  new Refusal('token_scoped', undefined, { headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' } })

/** Refuses when the caller's token is bound to another namespace. */
export const reaches = ({ namespace }: Caller, target: string): void => {
  if (namespace !== undefined && namespace !== target) throw outOfReach()
}

/** Steps 3 to 6 of api.md §1.3 as one onRequest hook: synchronous for every token seen before. */
export const authorizer = (service: Service): Authorize => {
  const { verifier, failures, metrics, refusals, settings, names, cookies } = service
  const fromOwnPages = sameOrigin({ publicUrl: settings.publicUrl, trustedOrigins: settings.session.trustedOrigins })
  const isForeign = foreignPage(fromOwnPages, settings.corsOrigins)
  const callers = new WeakMap<
    TokenEntry,
    { readonly bearer: Caller; readonly cookie: Caller; readonly allowed: Cell }
  >()
  const anonymous = metrics.authDecisions('allowed', '', 'none')

  const callersOf = (entry: TokenEntry) => {
    let both = callers.get(entry)
    if (!both) {
      const { id, method, namespace } = entry
      const caller = {
        actor: { kind: 'token', id, method } as const,
        ...(namespace === undefined ? {} : { namespace }),
      }
      const allowed = metrics.authDecisions('allowed', '', method)
      both = { bearer: { ...caller, via: 'bearer' }, cookie: { ...caller, via: 'cookie' }, allowed }
      callers.set(entry, both)
    }
    return both
  }

  /** Takes note of a refusal and gives it back. */
  const noted = (request: FastifyRequest, refusal: Refusal, tokenId?: string): Refusal => {
    metrics.authDecisions('refused', refusal.reason, '').value++
    const route = request.spec?.url ?? ''
    refusals.note({
      reason: refusal.reason,
      route,
      requestId: request.id,
      network: addressKey(request.address),
      ...(tokenId && { tokenId }),
    })
    return refusal
  }

  const unusable = (request: FastifyRequest, reply: FastifyReply, viaCookie: boolean): Refusal => {
    const client = addressKey(request.address)
    if (settings.rateLimited && failures.exhausted(client)) {
      return noted(
        request,
        new Refusal('rate_limited', undefined, { headers: { 'retry-after': String(failures.retryAfter()) } }),
      )
    }
    failures.count(client)
    if (viaCookie) cookies.clearToken(request, reply)
    return noted(request, new Refusal('credential_invalid'))
  }

  const admit = (request: FastifyRequest, entry: TokenEntry, via: 'bearer' | 'cookie'): Refusal | undefined => {
    const known = callersOf(entry)
    request.caller = known[via]
    const { access } = request.spec!
    if (via === 'cookie' && unsafe.has(request.method) && !fromOwnPages(request))
      return noted(request, new Refusal('cross_site'), entry.id)
    if (entry.namespace !== undefined) {
      const target = rules[access as Exclude<Access, 'public'>].reach(request, service)
      if (target !== BODY && target !== entry.namespace) return noted(request, outOfReach(), entry.id)
    }
    known.allowed.value++
    return undefined
  }

  /** Lets somebody in who has shown no usable credential, because the route is open. */
  const letIn = (request: FastifyRequest): Refusal | undefined => {
    if (unsafe.has(request.method) && isForeign(request)) return noted(request, new Refusal('cross_site'))
    anonymous.value++
    return undefined
  }

  const verdicts = new WeakMap<TokenEntry, boolean>()
  /** Whether the e-mail rule of today admits a login of yesterday (api.md §5.5). Erased personal data admits nobody. */
  const emailRule = async (entry: TokenEntry): Promise<TokenEntry> => {
    const profile = (await rowAt(service.log, tokens, entry.id))?.doc?.profile
    const opened = profile === undefined ? undefined : await service.sealer.open(profile)
    const attributes = opened && 'text' in opened ? (JSON.parse(opened.text) as Record<string, string>) : {}
    verdicts.set(entry, service.logins.admits(attributes))
    return entry
  }

  /** The everyday case, a bearer token seen before. What this does not know is left to the long way. */
  const usual = ({ raw }: FastifyRequest): TokenEntry | undefined => {
    const { authorization, cookie } = raw.headers
    if (authorization === undefined || cookie !== undefined || !authorization.startsWith('Bearer ')) return undefined
    const entry = verifier.cached(authorization.slice(7))
    const plain =
      entry !== undefined && entry.method !== 'oidc' && service.fresh() && times(raw.rawHeaders, 'authorization') === 1
    return plain ? entry : undefined
  }

  return (request, reply, done) => {
    const { access } = request.spec!
    request.caller = nobody
    if (access === 'public') return done()
    const seen = usual(request)
    if (seen) return done(admit(request, seen, 'bearer'))
    let given: Credential
    try {
      given = credential(request, names.tokenCookie)
    } catch (error) {
      if (cookies.isTwice(request)) cookies.clearToken(request, reply)
      return done(error as Refusal)
    }
    if (access === 'bearer' && given.kind === 'cookie') given = { kind: 'none' }
    const open = rules[access].open(service)
    if (given.kind === 'none') {
      return done(open ? letIn(request) : noted(request, new Refusal('credential_missing')))
    }
    if (!open && !service.fresh())
      return done(new Refusal('auth_stale', undefined, { headers: { 'retry-after': '1' } }))
    const { kind, token } = given
    const judged = (entry: TokenEntry | undefined): Refusal | undefined => {
      if (entry && verdicts.get(entry) !== false) return admit(request, entry, kind)
      if (open) return letIn(request)
      if (!entry) return unusable(request, reply, kind === 'cookie')
      if (kind === 'cookie') cookies.clearToken(request, reply)
      return noted(request, new Refusal('email_not_allowed'), entry.id)
    }
    const ruled = (entry: TokenEntry | undefined) =>
      entry?.method === 'oidc' && service.logins.restricted && verdicts.get(entry) !== true
    const known = token === undefined ? undefined : verifier.cached(token)
    if (token === undefined || (known && !ruled(known))) return done(judged(known))
    const found = async () => {
      const entry = known ?? (await verifier.verify(token))
      return judged(entry && ruled(entry) ? await emailRule(entry) : entry)
    }
    found()
      .then(done, done)
      .catch((error: unknown) => reply.send(error))
  }
}
