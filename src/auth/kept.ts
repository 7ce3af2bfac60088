import type { Claims } from '../access/claims.ts'
import { type ClaimUse, claimsNamed, claimsRead } from '../access/claims.ts'
import type { LoginKind } from '../events/login.ts'
import type { Identity } from './identity.ts'
import { refuseCallback } from './oidc/callback.ts'

/**
 * Maximum size in bytes of a stored identity. The encrypted form of an identity, a third larger, must fit into an event
 * of 64 KiB.
 */
const LIMIT = 40_960

type Attributes = Readonly<Record<string, string | undefined>>

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/**
 * Returns the first form of an identity that fits into the limit. The forms are ordered from complete to smallest.
 * Refuses with `identity_too_large`.
 */
export const keptOf = (callback: LoginKind, forms: Iterable<Attributes>): Pick<Identity, 'attributes' | 'reduced'> => {
  let reduced = false
  for (const form of forms) {
    const known = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const attributes = Object.fromEntries(known)
    if (bytesOf(attributes) <= LIMIT) return { attributes, ...(reduced && { reduced }) }
    reduced = true
  }
  return refuseCallback(callback, 'identity_large', { what: `the claims that rules use exceed ${LIMIT} bytes` })
}

/** Names of the smallest claims that fit into `bytes`. */
const smallest = (claims: Claims, bytes: number): ReadonlySet<string> => {
  const names = new Set<string>()
  const sizes = Object.entries(claims).map(
    ([name, value]) => [name, bytesOf(JSON.stringify({ [name]: value }))] as const,
  )
  let room = bytes
  for (const [name, size] of sizes.toSorted(([, one], [, other]) => one - other)) {
    room -= size
    if (room < 0) break
    names.add(name)
  }
  return names
}

/**
 * Forms of an OpenID Connect identity, the complete one first. Claims that rules read are dropped last. Claim values
 * that rules name are never dropped.
 */
export function* formsOf(
  { picture, 'oidc.picture': oidcPicture, 'oidc.profile': profile, ...identity }: Attributes,
  claims: Claims,
  asked: readonly ClaimUse[],
): Generator<Attributes> {
  const pages = { picture, 'oidc.picture': oidcPicture, 'oidc.profile': profile }
  yield { ...identity, ...pages, claims: JSON.stringify(claims) }
  for (const needed of [claimsRead(claims, asked), claimsNamed(claims, asked)])
    for (const shown of [{ ...identity, ...pages }, identity]) {
      const room = LIMIT - bytesOf({ ...shown, claims: JSON.stringify(needed) })
      const others = Object.fromEntries(Object.entries(claims).filter(([name]) => !Object.hasOwn(needed, name)))
      const fitting = smallest(others, room)
      const rest = Object.fromEntries(Object.entries(others).filter(([name]) => fitting.has(name)))
      yield { ...shown, claims: JSON.stringify({ ...rest, ...needed }) }
    }
}
