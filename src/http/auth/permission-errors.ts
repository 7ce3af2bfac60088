import { EVERYWHERE } from '../../access/grants.ts'
import { isRight, levelOf } from '../../access/rights.ts'
import { Refusal } from '../../base/errors.ts'

/** Maximum length of a key in a refusal, in Unicode code points. */
const MOST = 255

const cut = (key: string): string =>
  key.length <= MOST
    ? key
    : Array.from(key.slice(0, MOST * 2))
        .slice(0, MOST)
        .join('')

const placeText = (key: string): string =>
  key === EVERYWHERE ? ' in every namespace' : ` in namespace ${JSON.stringify(key)}`

/** Refusal about one right (api.md §2.3); without a namespace if the right applies everywhere. */
const about = (reason: 'right_missing' | 'grant_exceeds', words: string, right: string, place?: string): Refusal => {
  const key = place === undefined || (isRight(right) && levelOf(right) === 'any') ? undefined : cut(place)
  return new Refusal(reason, `permission denied: ${words} ${right}${key === undefined ? '' : placeText(key)}`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${right}"` },
    metadata: { right, ...(key !== undefined && { namespaceKey: key }) },
  })
}

/**
 * Refuses a request that needs a right which its caller does not have in the namespace, or in any namespace if none is
 * given.
 */
export const rightMissing = (right: string, place?: string): Refusal => about('right_missing', 'needs', right, place)

/** Refuses to create a token with a right that its creator does not have in that namespace. */
export const beyondOwn = ({ right, place }: { readonly right: string; readonly place: string }): Refusal =>
  about('grant_exceeds', 'grant exceeds your own:', right, place)

/**
 * Refuses a token for one namespace outside of this namespace; the answer does not depend on the existence of the
 * target.
 */
export const outOfReach = (): Refusal => new Refusal('token_scoped')
