import { conveyed, EVERYWHERE, type Grant, type Holding, isFull } from './grants.ts'
import { NAMESPACED } from './reach.ts'
import { ANYWHERE, bitOf, type Right, type RightSet, rightsIn } from './rights.ts'
import { EVERY } from './roles.ts'

/** Rights in a namespace; `*` as the only right stands for all. */
type NamespaceRights = { readonly namespaceKey: string; readonly rights: readonly string[] }

/** A grant in a token's record, with the rights that it gives. */
export type GrantInForce = NamespaceRights & { readonly role?: string; readonly rule?: string }

/** The grant that gives a right, by its index among the grants of the token. */
export type Because = {
  readonly grant: number
  readonly namespaceKey: string
  readonly role?: string
  readonly rule?: string
}

const named = ({ role, rule }: Grant) => ({
  ...(role === undefined ? {} : { role }),
  ...(rule === undefined ? {} : { rule }),
})

/**
 * Rights that a grant gives. If the token is limited to a namespace, the result contains only rights that such a token
 * can have.
 */
const inForce = ({ roles, namespace }: Holding, grant: Grant): RightSet =>
  conveyed(grant, roles) & (namespace === undefined ? ~0 : NAMESPACED)

const listed = (holding: Holding, grant: Grant): readonly string[] =>
  holding.namespace === undefined && isFull(grant, holding.roles) ? [EVERY] : rightsIn(inForce(holding, grant))

/** Grants of a token in order, each with its rights; undefined for a token without grants. */
export const grantsInForce = (holding: Holding): readonly GrantInForce[] | undefined =>
  holding.grants?.map((grant) => ({
    namespaceKey: grant.place,
    ...named(grant),
    rights: listed(holding, grant),
  }))

const byKey = (a: NamespaceRights, b: NamespaceRights): number => {
  if (a.namespaceKey === EVERYWHERE) return -1
  return b.namespaceKey === EVERYWHERE || a.namespaceKey > b.namespaceKey ? 1 : -1
}

/**
 * Rights of a token by namespace: first `*`, then the namespaces in the order of their keys. Omits `self.use`, the
 * right of every login to read its own record.
 */
export const placesOf = (holding: Holding): readonly NamespaceRights[] => {
  const { grants, namespace, roles } = holding
  if (namespace === undefined && (grants === undefined || grants.some((grant) => isFull(grant, roles))))
    return [{ namespaceKey: EVERYWHERE, rights: [EVERY] }]
  if (grants === undefined) return [{ namespaceKey: namespace!, rights: rightsIn(NAMESPACED) }]
  const sets = new Map<string, RightSet>()
  for (const grant of grants) {
    const place = namespace ?? grant.place
    sets.set(place, (sets.get(place) ?? 0) | inForce(holding, grant))
  }
  return [...sets]
    .filter(([, set]) => set !== 0)
    .map(([namespaceKey, set]) => ({ namespaceKey, rights: rightsIn(set) }))
    .sort(byKey)
}

/** First grant that gives a right in a namespace. */
export const because = (holding: Holding, right: Right, place: string): Because | undefined => {
  const { grants = [], namespace } = holding
  const bit = bitOf(right)
  const reaches = (grant: Grant): boolean => {
    if (namespace !== undefined) return place === namespace
    return grant.place === EVERYWHERE || grant.place === place || (bit & ANYWHERE) !== 0
  }
  const index = grants.findIndex((grant) => reaches(grant) && (inForce(holding, grant) & bit) !== 0)
  const grant = grants[index]
  return grant && { grant: index, namespaceKey: grant.place, ...named(grant) }
}
