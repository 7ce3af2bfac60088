import { EVERYWHERE } from '../../access/grants.ts'
import { isRight, levelOf } from '../../access/rights.ts'
import { Refusal } from '../../errors.ts'

/** The longest part of a key that a refusal repeats, in Unicode code points. */
const MOST = 255

const cut = (key: string): string =>
  key.length <= MOST
    ? key
    : Array.from(key.slice(0, MOST * 2))
        .slice(0, MOST)
        .join('')

const placeText = (key: string): string =>
  key === EVERYWHERE ? ' in every namespace' : ` in namespace ${JSON.stringify(key)}`

/** What a refusal says of one right (api.md §2.3); a right that counts anywhere has no place. */
const about = (reason: 'right_missing' | 'grant_exceeds', words: string, right: string, place?: string): Refusal => {
  const key = place === undefined || (isRight(right) && levelOf(right) === 'any') ? undefined : cut(place)
  return new Refusal(reason, `permission denied: ${words} ${right}${key === undefined ? '' : placeText(key)}`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${right}"` },
    metadata: { right, ...(key !== undefined && { namespaceKey: key }) },
  })
}

/** Refuses what wants a right that is not held in the place, or, where no place is known, in any. */
export const rightMissing = (right: string, place?: string): Refusal => about('right_missing', 'needs', right, place)

/** Refuses a token that could do something in a place that its creator can not. */
export const beyondOwn = ({ right, place }: { readonly right: string; readonly place: string }): Refusal =>
  about('grant_exceeds', 'grant exceeds your own:', right, place)

/** Refuses a namespaced token outside its reach: the same answer whether or not the target exists. */
export const outOfReach = (): Refusal => new Refusal('token_scoped')
