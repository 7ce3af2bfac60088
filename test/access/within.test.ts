import * as fc from 'fast-check'
import t from 'tap'
import type { Grant, Holding } from '../../src/access/grants.ts'
import { allowed, reachOf } from '../../src/access/reach.ts'
import { bitOf, RIGHTS } from '../../src/access/rights.ts'
import { BUILT_IN } from '../../src/access/roles.ts'
import { exceeding, grantable, narrowed } from '../../src/access/within.ts'
import { holding, MEANINGS, QUESTIONS, unbound } from './arbitraries.ts'

const of = (...grants: readonly Grant[]): Holding => ({ grants, roles: MEANINGS })
const at = (place: string, role: string): Grant => ({ place, role })
const role = (name: string) => BUILT_IN.find((one) => one.name === name)!

await t.test('a new token may have no right that its creator lacks, and the refusal names the first one', async (t) => {
  let [within, beyond] = [0, 0]
  fc.assert(
    fc.property(holding, holding, (creator, asked) => {
      const [mine, its] = [reachOf(creator), reachOf(asked)]
      const first = QUESTIONS.filter(
        ([right, place]) => allowed(its, bitOf(right), place) && !allowed(mine, bitOf(right), place),
      )
      const found = exceeding(mine, asked)
      if (first.length === 0) {
        within++
        // All rights of this version, but not those of later ones.
        return found === undefined || (found.right === '*' && !mine.full)
      }
      beyond++
      const [right] = first[0]!
      const places = first.filter(([one]) => one === right).map(([, place]) => place)
      if (found?.right !== right) return false
      return right === 'self.use' || found.place === (places.includes('*') ? '*' : places.sort()[0])
    }),
    { numRuns: 3000 },
  )
  t.ok(within > 100 && beyond > 100, `${within} within, ${beyond} beyond`)
})

await t.test('only a creator with full access may create a token with full access', async (t) => {
  const every: Grant = { place: '*', rights: [...RIGHTS] }
  const admin = reachOf(of(at('*', 'admin')))
  t.equal(exceeding(admin, {}), undefined)
  t.equal(exceeding(reachOf({}), of(at('*', 'admin'))), undefined)
  t.strictSame(exceeding(reachOf(of(every)), {}), { right: '*', place: '*' })
  t.strictSame(exceeding(reachOf(of(every)), of(at('shop', 'admin'))), { right: '*', place: 'shop' })
  t.equal(exceeding(reachOf(of(at('shop', 'admin'))), of(at('shop', 'admin'), at('shop', 'auditor'))), undefined)
  t.strictSame(exceeding(reachOf(of(at('shop', 'admin'))), of(at('*', 'client'))), {
    right: 'flag.evaluate',
    place: '*',
  })
  t.equal(exceeding(reachOf(of(at('shop', 'admin'))), { namespace: 'shop' }), undefined)
  t.strictSame(exceeding(reachOf(of(at('shop', 'editor'))), { namespace: 'shop' }), {
    right: 'namespace.update',
    place: 'shop',
  })
})

await t.test('a refusal because of a missing right of level "any" names the namespace of its grant', async (t) => {
  const creator = reachOf(of({ place: '*', rights: ['flag.evaluate', 'flag.snapshot', 'token.create'] }))
  t.strictSame(exceeding(creator, of(at('shop', 'server'), at('blog', 'server'))), { right: 'self.use', place: 'blog' })
  t.strictSame(exceeding(creator, of(at('shop', 'server'), at('*', 'server'))), { right: 'self.use', place: '*' })
})

await t.test('a creator may grant a role only in a namespace where it has all rights of the role', async (t) => {
  const places = (holding: Holding, name: string) => {
    const reach = reachOf(holding)
    return grantable(reach, role(name), ['shop', ...reach.places.keys(), 'blog'])
  }
  t.strictSame(places({}, 'admin'), ['*'])
  t.strictSame(
    places(of({ place: '*', rights: [...RIGHTS] }), 'admin'),
    ['blog', 'shop'],
    'in a namespace as far as a token bound to it may',
  )
  t.strictSame(places(of({ place: '*', rights: [...RIGHTS] }), 'editor'), ['*'])
  t.strictSame(places(of(at('shop', 'admin')), 'editor'), ['shop'])
  t.strictSame(places(of(at('shop', 'admin')), 'admin'), ['shop'])
  t.strictSame(places(of(at('shop', 'editor')), 'client'), [], 'without the right to make tokens')
  t.strictSame(places({ namespace: 'shop' }, 'client'), [], 'a token that is bound to a namespace makes none')
})

await t.test('a token with reduced grants has exactly the rights that both old and new grants give', async (t) => {
  let [same, less, none] = [0, 0, 0]
  fc.assert(
    fc.property(unbound, unbound, (old, under) => {
      const [before, now] = [reachOf(old, true), reachOf(under, true)]
      const left = narrowed(old, under)
      const after = left === undefined ? before : reachOf(left, true)
      if (left === undefined) same++
      else if (left.grants.length === 0) none++
      else less++
      const exact = QUESTIONS.every(
        ([right, place]) =>
          allowed(after, bitOf(right), place) ===
          (allowed(before, bitOf(right), place) && allowed(now, bitOf(right), place)),
      )
      // A second application changes nothing, and kept grants are those of the rules.
      const again = left === undefined ? undefined : narrowed(left, under)
      const named = left?.grants.filter((grant) => grant.role !== undefined || grant.rule !== undefined) ?? []
      return exact && again === undefined && named.every((grant) => under.grants!.includes(grant))
    }),
    { numRuns: 3000 },
  )
  t.ok(same > 50 && less > 50 && none > 5, `${same} as they were, ${less} less, ${none} nothing`)
})

await t.test('a token keeps each grant that the new grants cover, and the covered rights of the others', async (t) => {
  const editor = { ...at('shop', 'editor'), rule: 'team' }
  const viewer = { ...at('*', 'viewer'), rule: 'all' }
  t.strictSame(narrowed({}, of(editor, viewer)), {
    grants: [editor, viewer],
    roles: { editor: MEANINGS['editor'], viewer: MEANINGS['viewer'] },
  })
  t.strictSame(narrowed(of(at('shop', 'admin'), at('blog', 'client')), of(editor, viewer)), {
    grants: [editor, { place: 'blog', rights: ['flag.evaluate'] }],
    roles: { editor: MEANINGS['editor'] },
  })
  t.equal(narrowed(of(editor), {}), undefined, 'no rules any more')
  t.equal(narrowed(of(editor), of(at('*', 'admin'))), undefined, 'more than before')
  t.strictSame(narrowed(of(editor), of(at('blog', 'admin'))), { grants: [], roles: {} }, 'nothing in common')
  t.strictSame(narrowed({}, of()), { grants: [], roles: {} })
})
