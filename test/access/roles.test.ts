import t from 'tap'
import { conveyed } from '../../src/access/grants.ts'
import { ALL, bitOf, LATER, levelOf, RIGHTS, type Right, rightsIn, setOf } from '../../src/access/rights.ts'
import { BUILT_IN, isBuiltIn, NAME, rolesWith } from '../../src/access/roles.ts'

/** Rights of the contract in order. None of them is removed in a minor version. */
const rights: Readonly<Record<string, string>> = {
  'flag.evaluate': 'namespace',
  'flag.snapshot': 'namespace',
  'flag.read': 'namespace',
  'flag.create': 'namespace',
  'flag.delete': 'namespace',
  'flag.update': 'namespace',
  'segment.read': 'namespace',
  'segment.create': 'namespace',
  'segment.delete': 'namespace',
  'segment.update': 'namespace',
  'namespace.read': 'namespace',
  'namespace.update': 'namespace',
  'namespace.create': 'deployment',
  'namespace.delete': 'deployment',
  'token.read': 'namespace',
  'token.create': 'namespace',
  'token.revoke': 'namespace',
  'history.read': 'namespace',
  'audit.read': 'deployment',
  'subject.erase': 'deployment',
  'config.read': 'deployment',
  'self.use': 'any',
}
const server = 'flag.evaluate flag.snapshot self.use'
const viewer = `${server} flag.read segment.read namespace.read history.read`
const roles: Readonly<Record<string, string>> = {
  client: 'flag.evaluate',
  server,
  viewer,
  editor: `${viewer} flag.create flag.update flag.delete segment.create segment.update segment.delete`,
  admin: '*',
  auditor:
    'flag.evaluate flag.read segment.read namespace.read history.read token.read audit.read config.read self.use',
}

await t.test('the rights and their levels are those of docs/api.md, and each right has its own bit', async (t) => {
  t.strictSame(Object.fromEntries(RIGHTS.map((right) => [right, levelOf(right)])), rights)
  t.strictSame(RIGHTS, Object.keys(rights))
  t.ok(RIGHTS.length <= 30, 'more are not told apart from those of later versions')
  t.equal(new Set(RIGHTS.map(bitOf)).size, RIGHTS.length)
  t.equal(ALL & LATER, 0)
  t.strictSame(rightsIn(ALL | LATER), RIGHTS)
  t.strictSame(rightsIn(setOf(['self.use', 'flag.fly', 'flag.read', 'flag.read'])), ['flag.read', 'self.use'])
})

await t.test('the built-in roles have the rights listed in docs/api.md, in the same order', async (t) => {
  t.strictSame(
    BUILT_IN.map(({ name }) => name),
    Object.keys(roles),
  )
  for (const { name, rights: given, description } of BUILT_IN) {
    t.strictSame([...given].sort(), roles[name]!.split(' ').sort(), name)
    if (name !== 'admin') t.strictSame(given, rightsIn(setOf(given)), `${name} in order`)
    t.match(description, /^[A-Z].*\.$/)
    t.ok(isBuiltIn(name) && NAME.test(name))
  }
  t.notOk(isBuiltIn('constructor'))
})

await t.test('a role granted in one namespace gives no rights outside of it except self.use', async (t) => {
  const at = (place: string, role: string): readonly Right[] =>
    rightsIn(conveyed({ place, role }, Object.fromEntries(rolesWith({}).map((one) => [one.name, one.rights]))))
  const inNamespace = RIGHTS.filter((right) => rights[right] !== 'deployment')
  t.strictSame(at('shop', 'admin'), inNamespace)
  t.strictSame(at('*', 'admin'), RIGHTS)
  t.strictSame(
    at('shop', 'auditor'),
    inNamespace.filter((right) => roles['auditor']!.split(' ').includes(right)),
  )
  t.strictSame(at('shop', 'unknown'), [])
})
