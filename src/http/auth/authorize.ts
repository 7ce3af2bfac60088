import type { FastifyReply, FastifyRequest } from 'fastify'
import { openGroups } from '../../access/openness.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import { refusalFor } from '../../auth/refusal-details.ts'
import { isRefusal, Refusal } from '../../base/errors.ts'
import { addressKey } from '../memory/address-key.ts'
import type { Exchange, Step } from '../route/pipeline.ts'
import type { Guarded } from '../route/statements.ts'
import type { AuthServices, TokenInUse } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'
import type { Caller } from '../wire/caller.ts'
import { times } from '../wire/framing.ts'
import { parametersOf } from '../wire/path.ts'
import { allowedCells, callerOf } from './callers.ts'
import {
  type Credential,
  credential,
  foreignPage,
  type GivenCredential,
  sameOrigin,
  tellForeignPage,
} from './credential.ts'
import { FOREIGN_HOST, hostsLetIn } from './own-host.ts'
import { byHead, byRest } from './reach.ts'
import { emailRule, reapplyRules } from './reapply-rules.ts'
import { formerTokenNotes, refusalNotes } from './refusal-notes.ts'
import { ticketIn, ticketLookup } from './stream-ticket.ts'

const ANONYMOUS: Caller = { actor: { kind: 'anonymous' }, via: 'none' }
const unsafe = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

type Decision = Refusal | undefined | Promise<Refusal | undefined>

const insist = (refusal: Refusal | undefined): void => {
  if (refusal) throw refusal
}

const insistOn = (decision: Decision): void | Promise<void> =>
  decision instanceof Promise ? decision.then(insist) : insist(decision)

const tooMany = (limiter: Limiter): Refusal =>
  new Refusal('rate_limited', undefined, { headers: { 'retry-after': String(limiter.retryAfter()) } })

type AuthorizerServices = CommandServices & AuthServices & LoginServices

/** Access decisions by kind of caller: token holder, anonymous, or invalid credential. */
const decisions = (service: AuthorizerServices) => {
  const { failures, clients, settings, cookies, uses } = service
  const fromOwnPages = sameOrigin({ publicUrl: settings.publicUrl, trustedOrigins: settings.session.trustedOrigins })
  const isForeign = foreignPage(fromOwnPages, settings.corsOrigins)
  const isOwnHost = hostsLetIn(settings)
  const allowedBy = allowedCells(service)
  const newCaller = callerOf(allowedBy)
  const noted = refusalNotes(service)
  const crossSite = (request: FastifyRequest, entry?: TokenInUse): Refusal => {
    tellForeignPage(service, request)
    return noted(request, new Refusal('cross_site'), entry)
  }
  const noteFormer = formerTokenNotes(service)

  /** Step 8 of api.md §1.3: completes an access decision for which `admit` needed the body of the request. */
  const authorizeRest: Step = ({ request, spec: { wants, exceeds }, body }) => {
    const { reach, actor } = request.caller
    const decided = (refusal: Refusal | undefined): Refusal | undefined => {
      const refused = refusal ?? exceeds?.(body, reach!)
      if (refused) return noted(request, refused, { id: actor.id })
      allowedBy(actor.method!).value++
      return undefined
    }
    const verdict = byRest(reach!, wants!, request, body, service)
    return insistOn(verdict instanceof Promise ? verdict.then(decided) : decided(verdict))
  }

  return {
    noted,

    admit: (exchange: Exchange, entry: TokenInUse, via: 'bearer' | 'cookie', time: number): Refusal | undefined => {
      const { request, spec } = exchange
      const known = (entry.caller ??= newCaller(entry))
      request.caller = known[via]
      if (time >= known.notedUntil) known.notedUntil = uses.note(entry.id, time)
      if (known.published && clients) {
        const client = `${entry.id} ${addressKey(request.address)}`
        if (clients.exhausted(client)) return noted(request, tooMany(clients), entry)
        clients.count(client)
      }
      if (via === 'cookie' && unsafe.has(request.method) && !fromOwnPages(request)) return crossSite(request, entry)
      const { reach } = entry
      const verdict = reach.full ? undefined : byHead(reach, spec.wants!, request, service)
      if (verdict === 'later') exchange.authorizeRest = authorizeRest
      else if (verdict) return noted(request, verdict, entry)
      else known.allowed.value++
      return undefined
    },

    /** Admits a request without a valid credential, because the route is open. */
    letIn: (request: FastifyRequest): Refusal | undefined => {
      if (!isOwnHost(request.host)) {
        service.lines.warn('host', { host: request.host.slice(0, 255) }, FOREIGN_HOST)
        return noted(request, new Refusal('host_not_allowed'))
      }
      if (unsafe.has(request.method) && isForeign(request)) return crossSite(request)
      allowedBy('none').value++
      return undefined
    },

    /**
     * Refuses an invalid credential. A cookie with a former token of this installation (`isOurs`) is cleared. Other
     * cookies stay, because they may belong to another installation on this host.
     */
    unusable: (request: FastifyRequest, reply: FastifyReply, given: GivenCredential, isOurs: boolean): Refusal => {
      const client = addressKey(request.address)
      if (settings.rateLimited && failures.exhausted(client)) return noted(request, tooMany(failures))
      failures.count(client)
      if (given.kind === 'cookie' && isOurs) cookies.clearToken(request, reply)
      const refusal = noted(request, new Refusal('credential_invalid'))
      if (given.token !== undefined) noteFormer(request, reply, refusal, given.token)
      return refusal
    },
  }
}

/** Fast path: a bearer token already in the cache. Returns undefined for all other cases, which `long` handles. */
const knownBearer =
  ({ verifier, alone, fresh }: AuthorizerServices, { isOpen }: ReturnType<typeof reapplyRules>) =>
  ({ raw }: FastifyRequest, time: number): TokenInUse | undefined => {
    const { authorization, cookie } = raw.headers
    if (authorization === undefined || cookie !== undefined || !authorization.startsWith('Bearer ')) return undefined
    const entry = verifier.cached(authorization.slice(7), time)
    const plain =
      entry !== undefined &&
      (entry.method === 'token' || (entry.method !== 'oidc' && !isOpen(entry))) &&
      (alone || fresh()) &&
      times(raw.rawHeaders, 'authorization') === 1
    return plain ? entry : undefined
  }

/** Steps 4 to 6 of api.md §1.3, synchronous for cached tokens. Leaves step 8 for a decision by body or query. */
export const authorizer = (service: AuthorizerServices): Step => {
  const { verifier, names, cookies } = service
  const { noted, admit, letIn, unusable } = decisions(service)
  /** For each credential rule, true if a request without a credential is admitted. */
  const isOpen = { always: false, bearer: false, welcome: true, ...openGroups(service.settings) }
  const rule = emailRule(service)
  const later = reapplyRules(service)
  const usual = knownBearer(service, later)
  const lookUp = ticketLookup(service)

  /** Handles every kind of credential, or none. */
  const long = (exchange: Exchange, access: Guarded, time: number): Decision => {
    const { request, reply } = exchange
    const welcome = access.credential === 'welcome'
    let given: Credential
    try {
      given = credential(request, names.tokenCookie)
    } catch (error) {
      if (cookies.isTwice(request)) cookies.clearToken(request, reply)
      const refusal = noted(request, error as Refusal)
      return welcome ? letIn(request) : refusal
    }
    const ticket = access.ticket && given.kind !== 'bearer' ? ticketIn(request) : undefined
    if (ticket !== undefined) given = { kind: 'bearer' }
    else if (access.credential === 'bearer' && given.kind === 'cookie') given = { kind: 'none' }
    const open = isOpen[access.credential] && !access.alwaysFor?.(parametersOf(request))
    if (given.kind === 'none') return open ? letIn(request) : noted(request, new Refusal('credential_missing'))
    if ((!open || welcome) && !service.fresh()) return noted(request, new Refusal('auth_stale'))
    const { kind, token } = given
    const judged = (entry: TokenInUse | undefined, isOurs: boolean): Refusal | undefined => {
      const bar = entry && rule.barOf(entry)
      if (entry && !bar) return admit(exchange, entry, kind, time)
      if (open && !welcome) return letIn(request)
      if (bar) {
        if (kind === 'cookie') cookies.clearToken(request, reply)
        const refusal = noted(request, refusalFor(bar.cause), { id: entry.id, provider: bar.provider })
        return welcome ? letIn(request) : refusal
      }
      const refusal = unusable(request, reply, given, isOurs)
      return welcome && refusal.reason !== 'rate_limited' ? letIn(request) : refusal
    }
    const known = token === undefined ? undefined : verifier.cached(token, time)
    if (ticket === undefined && (token === undefined || (known && !later.isOpen(known) && !rule.isOpen(known))))
      return judged(known, true)
    const look = ticket === undefined ? () => verifier.look(token!) : () => lookUp(request, ticket)
    const found = async () => {
      const { entry: held, isOurs } = known ? { entry: known, isOurs: true } : await look()
      const entry = held && later.isOpen(held) ? await later.ask(held, async () => (await look()).entry) : held
      return judged(entry && rule.isOpen(entry) ? await rule.ask(entry) : entry, isOurs)
    }
    return found().catch((error: unknown) => {
      if (!isRefusal(error, 'auth_stale')) throw error
      return open && !welcome ? letIn(request) : noted(request, error)
    })
  }

  return (exchange) => {
    const { access } = exchange.spec
    exchange.request.caller = ANONYMOUS
    if (access.credential === 'public') return undefined
    const time = service.now().getTime()
    const seen = usual(exchange.request, time)
    return insistOn(seen ? admit(exchange, seen, 'bearer', time) : long(exchange, access, time))
  }
}
