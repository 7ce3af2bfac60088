import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { type ClaimUse, claimsNamed, claimsRead } from '../../src/access/claims.ts'
import { matchingRules, type Rule, referencedClaims } from '../../src/access/rules.ts'

const rulesOf = (asked: readonly ClaimUse[]): readonly Rule[] =>
  asked.map(({ claim, anyOf }, n) => ({
    name: `rule-${n}`,
    method: 'oidc',
    provider: 'corp',
    claim,
    anyOf,
    grants: [],
  }))

const name = fc.constantFrom('groups', 'email', 'email_verified', '_claim_names', '__proto__', 'a/b', '0', '1', '')
const words = fc.constantFrom('staff', 'ada@Example.com', 'ada@example.com', 'other', '')
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    words,
    fc.constantFrom<unknown>(true, false, null, 0, 'true'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value
const claims = fc.dictionary(name, value, { maxKeys: 6 })
const pointer = fc
  .array(name, { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.map((one) => one.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`)
const asked = fc.record({
  claim: fc.oneof(name, pointer),
  anyOf: fc.array(words, { minLength: 1, maxLength: 3 }),
})

await t.test('access rules match a login by its stored claims exactly as by its complete claims', async (t) => {
  let matched = 0
  fc.assert(
    fc.property(claims, fc.array(asked, { maxLength: 4 }), fc.boolean(), (claims, asked, assumed) => {
      const rules = rulesOf(asked)
      const policy = { rules, assumeVerified: assumed ? ['corp'] : [] }
      const said = (claims: Readonly<Record<string, unknown>>) => {
        const subject = { method: 'oidc', provider: 'corp', claims } as const
        return [matchingRules(policy, subject).map(({ name }) => name), referencedClaims(rules, subject)]
      }
      const whole = said(claims)
      matched += whole[0]!.length
      for (const kept of [claimsRead(claims, asked), claimsNamed(claims, asked)])
        if (!isDeepStrictEqual(said(JSON.parse(JSON.stringify(kept)) as typeof claims), whole)) return false
      return true
    }),
    { numRuns: 3000 },
  )
  t.ok(matched > 20, `${matched} matches`)
})

const GROUPS = Array.from({ length: 5000 }, (_, n) => `group-${n}`)
const ROWS: readonly [string, readonly ClaimUse[], object, object][] = [
  [
    'a list has what is named, once',
    [{ claim: 'groups', anyOf: ['group-7', 'group-9', 'none'] }],
    {},
    { groups: ['group-7', 'group-9'] },
  ],
  [
    'a list that two rules read',
    [
      { claim: 'groups', anyOf: ['group-1'] },
      { claim: '/groups', anyOf: ['group-2'] },
    ],
    {},
    { groups: ['group-1', 'group-2'] },
  ],
  ['a list in which a name is a place stays', [{ claim: '/groups/3', anyOf: ['group-3'] }], {}, { groups: GROUPS }],
  [
    'what lies deeper',
    [{ claim: '/realm/roles', anyOf: ['b'] }],
    { realm: { roles: ['a', 'b', 'b'], more: 'x' } },
    { realm: { roles: ['b'] } },
  ],
  ['a text that is not named goes', [{ claim: 'dept', anyOf: ['b'] }], { dept: 'a', team: 'b' }, {}],
  ['a text that is named stays', [{ claim: 'dept', anyOf: ['a'] }], { dept: 'a', team: 'b' }, { dept: 'a' }],
  [
    'the address and what is said of it stay',
    [],
    { email: 'a@b', email_verified: 0, x: 1 },
    { email: 'a@b', email_verified: 0 },
  ],
  [
    'references stay',
    [{ claim: 'groups', anyOf: ['group-1'] }],
    { groups: 'x', _claim_names: { groups: 's', other: 't' } },
    { _claim_names: { groups: 's', other: 't' } },
  ],
]

await t.test('the service stores only those claims of a login that an access rule names', async (t) => {
  for (const [name, asked, claims, left] of ROWS) {
    const kept = claimsNamed({ groups: GROUPS, ...claims }, asked)
    t.strictSame(JSON.parse(JSON.stringify(kept)), JSON.parse(JSON.stringify(left)), name)
  }
})
