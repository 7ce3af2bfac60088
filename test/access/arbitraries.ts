import * as fc from 'fast-check'
import type { Grant, Holding } from '../../src/access/grants.ts'
import { levelOf, RIGHTS, type Right } from '../../src/access/rights.ts'
import { BUILT_IN } from '../../src/access/roles.ts'

/** Roles of the generated holdings: the built-in ones, some that overlap with them, and an unknown one. */
export const MEANINGS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(BUILT_IN.map(({ name, rights }) => [name, rights])),
  nothing: [],
  later: ['flag.fly', 'flag.read'],
  own: ['self.use'],
  operator: ['audit.read', 'namespace.create', 'flag.update', 'token.create'],
}
/** Places of the decisions under test. No grant exists for the last one. */
export const PLACES = ['*', 'shop', 'blog', '__proto__', 'nowhere'] as const

const place = fc.constantFrom(...PLACES.slice(0, -1))
const role = fc.constantFrom(...Object.keys(MEANINGS), 'constructor')
const rule = fc.constantFrom('first', 'second')
const rights = fc.oneof(fc.subarray([...RIGHTS], { minLength: 1 }), fc.constant([...RIGHTS]))
const ofRole = fc.record({ place, role, rule }, { requiredKeys: ['place', 'role'] })
const ofRights = fc.record({ place, rights, rule }, { requiredKeys: ['place', 'rights'] })
const grants: fc.Arbitrary<readonly Grant[]> = fc.array(fc.oneof({ weight: 3, arbitrary: ofRole }, ofRights), {
  maxLength: 5,
})

/** Holdings of logins and of static tokens without a namespace. */
export const unbound: fc.Arbitrary<Holding> = fc
  .option(grants, { nil: undefined, freq: 8 })
  .map((some) => (some === undefined ? {} : { grants: some, roles: MEANINGS }))

export const holding: fc.Arbitrary<Holding> = fc.oneof(
  { weight: 4, arbitrary: unbound },
  fc
    .record({ holding: unbound, namespace: fc.constantFrom('shop', 'blog', '', '[', '__proto__') })
    .map(({ holding: { grants: some, ...rest }, namespace }) => ({
      ...rest,
      namespace,
      ...(some === undefined ? {} : { grants: some.map((grant) => ({ ...grant, place: namespace })) }),
    })),
)

const BOUND: readonly Right[] = RIGHTS.filter(
  (right) => /^(flag|segment)\./.test(right) || ['namespace.read', 'namespace.update', 'history.read'].includes(right),
)

const gives = (grant: Grant, right: Right, roles: Holding['roles']): boolean => {
  const named = grant.rights ?? (Object.hasOwn(roles ?? {}, grant.role!) ? roles![grant.role!]! : [])
  return named.includes(right) || named.includes('*')
}

/** Reference implementation of the decision, according to the specification, for each grant separately. */
export const decided = (holding: Holding, right: Right, place: string, self = false): boolean => {
  const { grants: some, roles, namespace } = holding
  if (namespace !== undefined)
    return place === namespace && BOUND.includes(right) && (some?.some((one) => gives(one, right, roles)) ?? true)
  if (some === undefined || (right === 'self.use' && self)) return true
  return some.some((one) => {
    if (!gives(one, right, roles)) return false
    if (levelOf(right) === 'any') return true
    return one.place === '*' || (levelOf(right) === 'namespace' && one.place === place)
  })
}

/** All pairs of a right and a place under test. */
export const QUESTIONS: readonly (readonly [right: Right, place: string])[] = RIGHTS.flatMap((right) =>
  ['', '[', ...PLACES].map((place) => [right, place] as const),
)
