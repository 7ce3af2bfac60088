import { EVERYWHERE } from '../../../access/grants.ts'
import { placesOf } from '../../../access/holding.ts'
import { isOpenFor } from '../../../access/openness.ts'
import { FULL, publishable, type Reach } from '../../../access/reach.ts'
import { levelOf, RIGHTS } from '../../../access/rights.ts'
import { isBuiltIn, type Role } from '../../../access/roles.ts'
import { grantable } from '../../../access/within.ts'
import { opennessAt, rowNow } from '../../../as-of/as-of.ts'
import { refuse } from '../../../base/errors.ts'
import { Access, AccessChecked, accessQuery, Roles } from '../../../contract/access.ts'
import { readable } from '../../../projections/projection.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import { type AccessDecision, accessDecisionOf, reachOfToken } from '../../auth/access-decision.ts'
import { namespaceOfRecord } from '../../auth/token-records.ts'
import { grantsShown, short } from '../../present/authentication.ts'
import { idInQuery } from '../../route/required-rights.ts'
import { allRoutes, type Call, route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { FlagMount, FlagService } from '../../services/flags.ts'

/** Access with any valid token. */
const anyToken = { credential: 'required', namespace: 'any', right: 'none' } as const

/** Access of a caller without a credential, if none is required: full. */
const fullAccess: Access = { full: true, publishable: false, places: placesOf({}) }

const shown = (doc: TokenDoc): Access => {
  const { id, namespace, expiresAt } = doc
  const reach = reachOfToken(doc)
  return {
    authenticationId: id,
    full: reach.full,
    publishable: publishable(reach),
    ...(namespace !== undefined && { namespaceKey: namespace }),
    places: placesOf(doc),
    ...grantsShown(doc),
    ...(expiresAt !== undefined && { expiresAt: short(expiresAt) }),
  }
}

/** Namespaces of the setting in which the caller has a right. */
const reasonsRequired = ({ places }: Access, required: readonly string[]): Pick<Access, 'reasonRequired'> => {
  const held = places.map(({ namespaceKey }) => namespaceKey)
  const shown = held.includes(EVERYWHERE)
    ? required
    : required.filter((key) => key === EVERYWHERE || held.includes(key))
  return shown.length === 0 ? {} : { reasonRequired: [...shown] }
}

const getAccess: FlagMount = (app, { log, settings }) =>
  route(app, {
    method: 'GET',
    url: '/auth/v1/access',
    ...authentication,
    access: anyToken,
    summary: 'Get the rights of the token in use, by namespace.',
    answer: Access,
    run: async ({ caller: { actor } }) => {
      const row = actor.id === undefined ? undefined : readable(await rowNow(log, tokens, actor.id))
      const access = actor.id === undefined ? fullAccess : row?.doc ? shown(row.doc) : refuse('credential_invalid')
      return { body: { ...access, ...reasonsRequired(access, settings.requireReason) } }
    },
  })

type Checking = Call<unknown, ReturnType<(typeof accessQuery)['read']>>

/** The requested record as of the moment, and the time of the moment. */
const recordAt = async ({ log, now, asOf }: FlagService, id: string, { query: { at }, request }: Checking) => {
  const snapshot = at && (await asOf(at, request.stop))
  const row = readable(await (snapshot ? snapshot.token(id) : rowNow(log, tokens, id)))
  return { doc: row?.doc, time: snapshot ? new Date(await snapshot.clock()) : now() }
}

/** Access decision for a caller without a credential, by the configuration at the moment. */
const withoutCredential = async (
  { log, asOf, settings }: FlagService,
  { query: { at, right }, request }: Checking,
): Promise<AccessDecision> => {
  const openness = at && (await opennessAt(log, (await (await asOf(at, request.stop)).moment()).position))
  return isOpenFor(right, openness ?? settings)
    ? { allowed: true, reason: 'open' }
    : { allowed: false, reason: 'not_granted' }
}

const checkAccess: FlagMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/auth/v1/access/check',
    ...authentication,
    access: {
      ...anyToken,
      past: 'free',
      other: { right: 'token.read', idIn: idInQuery, boundTo: namespaceOfRecord(service) },
    },
    summary:
      'Check whether the token in use, or a token with a given id, has a right in a namespace or in all namespaces, now or at a past moment, and for which reason.',
    query: accessQuery,
    errors: ['invalid_at', 'right_missing'],
    answer: AccessChecked,
    run: async (call) => {
      const { query, caller } = call
      const { right, namespaceKey: given, id: other } = query
      const namespaceKey = given === '' ? EVERYWHERE : given
      const id = other === '' ? caller.actor.id : other
      const answer = (verdict: AccessDecision) => ({ body: { ...verdict, right, namespaceKey } })
      if (id === undefined) return answer(await withoutCredential(service, call))
      const { doc, time } = await recordAt(service, id, call)
      return answer(accessDecisionOf(doc, right, namespaceKey, time))
    },
  })

/**
 * Namespaces in which a role can be granted. All namespaces that the caller's rights do not name have the same result,
 * so only one of them is checked.
 */
const grantableIn = (reach: Reach, role: Role, namespaces: readonly string[]): readonly string[] => {
  const others = namespaces.filter((key) => !reach.places.has(key))
  const found = grantable(reach, role, [...reach.places.keys(), ...others.slice(0, 1)])
  const there = new Set(others.length > 0 && found.includes(others[0]!) ? [...found, ...others] : found)
  return there.has(EVERYWHERE) ? [EVERYWHERE] : namespaces.filter((key) => there.has(key))
}

const listRoles: FlagMount = (app, { settings, flagStore }) =>
  route(app, {
    method: 'GET',
    url: '/auth/v1/roles',
    ...authentication,
    access: { credential: 'required', namespace: 'none', right: 'self.use' },
    summary: 'List all roles and rights, and the namespaces in which the caller may issue a token with each role.',
    answer: Roles,
    run: ({ caller: { reach = FULL } }) => {
      const namespaces = flagStore.namespaces().map(({ key }) => key)
      const roles = settings.access.roles.map((role) => ({
        name: role.name,
        description: role.description,
        builtIn: isBuiltIn(role.name),
        rights: role.rights,
        grantable: grantableIn(reach, role, namespaces),
      }))
      return { body: { roles, rights: RIGHTS.map((name) => ({ name, level: levelOf(name) })) } }
    },
  })

/** Access of tokens, and roles: /auth/v1/access* and /auth/v1/roles (api.md §5.8). */
export const authAccessRoutes = allRoutes(getAccess, checkAccess, listRoles)
