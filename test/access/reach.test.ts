import * as fc from 'fast-check'
import t from 'tap'
import type { Holding } from '../../src/access/grants.ts'
import { because, grantsInForce, placesOf } from '../../src/access/holding.ts'
import { allowed, allowedSomewhere, FULL, publishable, reachFrom, reachOf, reachText } from '../../src/access/reach.ts'
import { bitOf, RIGHTS, type Right } from '../../src/access/rights.ts'
import { BUILT_IN } from '../../src/access/roles.ts'
import { decided, holding, MEANINGS, QUESTIONS, unbound } from './arbitraries.ts'

const of = (...grants: NonNullable<Holding['grants']>): Holding => ({ grants, roles: MEANINGS })
const at = (place: string, role: string) => ({ place, role })
const sorted = ({ places }: ReturnType<typeof reachOf>) => [...places].map(String).sort()
const pairs = (reach: ReturnType<typeof reachOf>): string =>
  QUESTIONS.filter(([right, place]) => allowed(reach, bitOf(right), place)).join(' ')

await t.test('a token with several grants may do exactly what one of its grants allows', async (t) => {
  fc.assert(
    fc.property(holding, fc.boolean(), (held, self) => {
      const reach = reachOf(held, self)
      for (const [right, place] of QUESTIONS)
        if (allowed(reach, bitOf(right), place) !== decided(held, right, place, self)) return false
      return RIGHTS.every(
        (right) =>
          allowedSomewhere(reach, bitOf(right)) ===
          QUESTIONS.some(([asked, place]) => asked === right && decided(held, right, place, self)),
      )
    }),
    { numRuns: 2000 },
  )
  t.pass('all decisions agree')
})

await t.test('each set of rights of a token has one text form, which parses to the same rights', async (t) => {
  const texts = new Map<string, string>()
  const reaches = new Map<string, string>()
  fc.assert(
    fc.property(holding, fc.boolean(), (held, self) => {
      const reach = reachOf(held, self)
      const text = reachText(reach)
      const back = reachFrom(text)
      const same = `${reach.full} ${reach.namespace} ${String(sorted(back))} ${pairs(reach)}`
      t.equal(texts.get(same) ?? text, text, 'one text of a reach')
      t.equal(reaches.get(text) ?? same, same, 'one reach of a text')
      texts.set(same, text)
      reaches.set(text, same)
      t.strictSame({ ...back, places: sorted(back) }, { ...reach, places: sorted(reach) })
      t.equal(reachText(back), text)
    }),
    { numRuns: 1000 },
  )
  t.ok(texts.size > 100, `${texts.size} reaches`)
})

await t.test('the most common sets of rights have the shortest texts', async (t) => {
  t.equal(reachText(FULL), '')
  t.equal(reachText(reachOf(of(at('*', 'admin')))), '')
  t.equal(reachFrom(), FULL)
  t.equal(reachText(reachOf({ namespace: 'shop' })), 'shop')
  t.equal(reachText(reachOf({ namespace: 'shop', ...of(at('shop', 'admin')) })), 'shop', 'a role that narrows nothing')
  t.equal(
    reachText(reachOf(of(at('shop', 'client'), at('*', 'server')))),
    '[null,["*","flag.evaluate,flag.snapshot,self.use"]]',
  )
})

await t.test('a right that only a later version knows is ignored, and the other rights are granted', async (t) => {
  const later = reachFrom('[null,["*","flag.fly"],["shop","flag.fly,flag.read"],["blog","flag.fly"]]')
  t.strictSame([later.everywhere, [...later.places]], [0, [['shop', bitOf('flag.read')]]])
  t.ok(allowed(reachFrom('[null,["shop","*"]]'), bitOf('token.revoke'), 'shop'))
  t.notOk(allowed(reachFrom('[null,["shop","*"]]'), bitOf('audit.read'), 'shop'))
})

await t.test('an access decision names the first grant that gives the right', async (t) => {
  fc.assert(
    fc.property(holding, (held) => {
      for (const [right, place] of QUESTIONS) {
        const reason = because(held, right, place)
        const first = held.grants?.findIndex((grant) => decided({ ...held, grants: [grant] }, right, place)) ?? -1
        if ((reason?.grant ?? -1) !== first) return false
        const grant = held.grants?.[first]
        if (
          reason &&
          (reason.namespaceKey !== grant?.place || reason.role !== grant.role || reason.rule !== grant.rule)
        )
          return false
      }
      return true
    }),
    { numRuns: 1000 },
  )
  t.strictSame(because({ ...of({ ...at('shop', 'editor'), rule: 'team' }) }, 'self.use', '*'), {
    grant: 0,
    namespaceKey: 'shop',
    role: 'editor',
    rule: 'team',
  })
})

await t.test("a token's record lists the rights of each grant and the combined rights of each namespace", async (t) => {
  fc.assert(
    fc.property(holding, (held) => {
      const shown = grantsInForce(held)
      if (shown?.length !== held.grants?.length) return false
      const says = (rights: readonly string[], right: Right) => rights.includes('*') || rights.includes(right)
      const places = placesOf(held)
      const keys = places.map(({ namespaceKey }) => namespaceKey)
      if (String(keys) !== String([...new Set(keys)].sort((a, b) => (a === '*' ? -1 : b === '*' ? 1 : a < b ? -1 : 1))))
        return false
      return QUESTIONS.every(([right, place]) => {
        const said = places.some(
          ({ namespaceKey, rights }) =>
            says(rights, right) && (['*', place].includes(namespaceKey) || right === 'self.use'),
        )
        const ordered = [...(shown ?? []), ...places].every(
          ({ rights }) => rights[0] === '*' || String(rights) === String(RIGHTS.filter((one) => rights.includes(one))),
        )
        return ordered && said === decided(held, right, place)
      })
    }),
    { numRuns: 1000 },
  )
  t.strictSame(placesOf({}), [{ namespaceKey: '*', rights: ['*'] }])
  t.strictSame(placesOf(of(at('shop', 'client'), at('*', 'admin'))), [{ namespaceKey: '*', rights: ['*'] }])
  t.strictSame(placesOf(of(at('shop', 'client'), at('*', 'server'), at('blog', 'nothing'))), [
    { namespaceKey: '*', rights: ['flag.evaluate', 'flag.snapshot', 'self.use'] },
    { namespaceKey: 'shop', rights: ['flag.evaluate'] },
  ])
  t.strictSame(grantsInForce(of(at('*', 'admin'), { place: 'shop', rights: ['flag.read', 'flag.evaluate'] })), [
    { namespaceKey: '*', role: 'admin', rights: ['*'] },
    { namespaceKey: 'shop', rights: ['flag.evaluate', 'flag.read'] },
  ])
  t.strictSame(grantsInForce({ namespace: 'shop', ...of(at('shop', 'auditor')) }), [
    {
      namespaceKey: 'shop',
      role: 'auditor',
      rights: ['flag.evaluate', 'flag.read', 'segment.read', 'namespace.read', 'history.read'],
    },
  ])
  t.equal(grantsInForce({ namespace: 'shop' }), undefined)
})

await t.test('a token may be published if its only right is to evaluate flags', async (t) => {
  t.ok(publishable(reachOf(of(at('shop', 'client'), at('blog', 'client')))))
  t.ok(publishable(reachOf({ namespace: 'shop', ...of({ place: 'shop', rights: ['flag.evaluate', 'token.read'] }) })))
  for (const role of BUILT_IN.map(({ name }) => name).filter((name) => name !== 'client'))
    t.notOk(publishable(reachOf(of(at('*', role)))), role)
  t.notOk(publishable(reachOf({})))
  t.notOk(publishable(reachOf({ namespace: 'shop' })))
  t.notOk(publishable(reachOf(of())), 'nothing at all')
  t.notOk(publishable(reachOf(of(at('shop', 'client')), true)), 'a login has its own record too')
})

await t.test('adding a grant to a token never removes a right', async (t) => {
  fc.assert(
    fc.property(unbound, unbound, (a, b) => {
      if (a.grants === undefined || b.grants === undefined) return true
      const both = reachOf({ grants: [...a.grants, ...b.grants], roles: MEANINGS })
      const [one, other] = [reachOf(a), reachOf(b)]
      return QUESTIONS.every(
        ([right, place]) =>
          allowed(both, bitOf(right), place) ===
          (allowed(one, bitOf(right), place) || allowed(other, bitOf(right), place)),
      )
    }),
    { numRuns: 500 },
  )
  t.pass('a union')
})
