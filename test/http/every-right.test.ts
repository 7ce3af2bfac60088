import fc from 'fast-check'
import t from 'tap'
import { levelOf, RIGHTS, type Right } from '../../src/access/rights.ts'
import type { Fields, Headers, Started } from '../start.ts'
import { type Asked, granted, withNamespaces } from './granted.ts'
import { everyWay } from './people.ts'
import { type StatedRoute, statedRoles, statedRoutes } from './stated-routes.ts'

/** Rights of a namespaced token without a role (api.md §3.3). */
const bound = RIGHTS.filter(
  (right) => /^(flag|segment)\./.test(right) || ['namespace.read', 'namespace.update', 'history.read'].includes(right),
)

type Token = { readonly grants: readonly Asked[] } | { readonly namespaceKey: string; readonly role?: string }

/** Whether a token has a right in a place, by its request. */
const has = (token: Token, right: Right, place: string): boolean => {
  if (!('grants' in token)) {
    const { namespaceKey, role } = token
    return place === namespaceKey && bound.includes(right) && (role === undefined || statedRoles[role]!.includes(right))
  }
  return token.grants.some(({ namespaceKey, role = '', rights = statedRoles[role]! }) => {
    if (!rights.includes(right)) return false
    if (levelOf(right) === 'any' || namespaceKey === '*') return true
    return levelOf(right) === 'namespace' && namespaceKey === place
  })
}
const everywhereAndAll = ['*', 'a', 'b', 'default', 'nowhere']
const hasSomewhere = (token: Token, right: Right): boolean => everywhereAndAll.some((place) => has(token, right, place))

/** How a request specifies its place, and the values for the namespaces `one` and `two`. */
type Way = {
  readonly kind: 'head' | 'body' | 'record' | 'list' | 'deployment' | 'nowhere'
  readonly places: readonly string[]
  readonly body?: Fields
  readonly headers?: Headers
  readonly query?: string
}
const wayOf = ({ path, place }: StatedRoute, one: string, two: string): Way => {
  const ofBatch = { places: [one, two], body: { requests: [one, two].map((namespaceKey) => ({ namespaceKey })) } }
  const ways: Readonly<Record<StatedRoute['place'], Way>> = {
    public: { kind: 'nowhere', places: [] },
    unguarded: { kind: 'nowhere', places: [] },
    list: { kind: 'list', places: [] },
    any: { kind: 'deployment', places: ['*'] },
    deployment: { kind: 'deployment', places: ['*'] },
    asked: { kind: 'deployment', places: [one], query: `namespaceKey=${one}` },
    made: { kind: 'deployment', places: [one], body: { namespaceKey: one } },
    record: { kind: 'record', places: [one] },
    path: { kind: 'head', places: [one] },
    default: { kind: 'head', places: ['default'] },
    header: { kind: 'head', places: [one], headers: { 'x-service-namespace': one } },
    // The second parameter is refused after the access decision, so that no stream opens.
    query: { kind: 'head', places: [one], query: `namespace=${one}&namespace=` },
    body: {
      kind: 'body',
      ...(path === '/evaluate/v1/batch' ? ofBatch : { places: [one], body: { namespaceKey: one } }),
    },
  }
  return ways[place]
}

type Verdict = 'taken' | 'right_missing' | 'token_scoped'
const isPart = (queries: string, name: string) => queries.split('&').some((query) => query.startsWith(`${name}=`))
/** Past reads of flags and evaluations require another right; those of tokens and access do not (api.md §3.6). */
const isPastOfFlags = (path: string) => !path.startsWith('/auth/') && !path.startsWith('/audit/')

/** Expected decision by the contract, in the order of its steps. */
const verdict = (token: Token, right: Right | undefined, { kind, places }: Way, more: readonly Right[]): Verdict => {
  const all = [...(right === undefined ? [] : [right]), ...more]
  if (!('grants' in token)) {
    if (kind === 'nowhere') return 'taken'
    const outside = places.some((place) => place !== token.namespaceKey)
    if (kind !== 'body' && kind !== 'head') return 'token_scoped'
    if (kind === 'body' && !hasSomewhere(token, right!)) return 'right_missing'
    if (outside) return 'token_scoped'
    return all.every((one) => has(token, one, token.namespaceKey)) ? 'taken' : 'right_missing'
  }
  const held =
    kind === 'list'
      ? everywhereAndAll.some((place) => all.every((one) => has(token, one, place)))
      : all.every((one) => places.every((place) => has(token, one, place)))
  return held ? 'taken' : 'right_missing'
}

const right = fc.constantFrom(...RIGHTS)
const place = fc.constantFrom('*', 'a', 'b', 'default')
const role = fc.constantFrom(...Object.keys(statedRoles))
const grant: fc.Arbitrary<Asked> = fc.oneof(
  fc.record({ namespaceKey: place, role }),
  fc.record({ namespaceKey: place, rights: fc.uniqueArray(right, { minLength: 1, maxLength: 12 }) }).map((asked) => ({
    ...asked,
    rights:
      asked.namespaceKey === '*'
        ? asked.rights
        : [...asked.rights.filter((one) => levelOf(one) !== 'deployment'), 'flag.evaluate'],
  })),
)
const token: fc.Arbitrary<Token> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ grants: fc.array(grant, { minLength: 1, maxLength: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ namespaceKey: fc.constantFrom('a', 'default'), role }, { requiredKeys: ['namespaceKey'] }),
  },
)
const asking = fc.record({
  one: fc.constantFrom('a', 'b', 'default', 'nowhere'),
  two: fc.constantFrom('a', 'b'),
  at: fc.boolean(),
  explain: fc.boolean(),
})

const elsewhere = { one: 'b', two: 'a', at: false, explain: false } as const

/** A route that requires a credential, with the queries that it takes. */
type Row = StatedRoute & { readonly takes: readonly string[] }
const guarded = async ({ request }: Started): Promise<readonly Row[]> => {
  type Operation = { readonly parameters: readonly { readonly name: string }[] }
  const { json } = await request<{ readonly paths: Record<string, Record<string, Operation>> }>('GET', '/openapi.json')
  return statedRoutes
    .filter(({ right }) => right !== 'public')
    .map((row) => ({
      ...row,
      takes: json.paths[row.path]![row.verb.toLowerCase()]!.parameters.map(({ name }) => name),
    }))
}

await t.test('for each right, exactly the documented requests are refused without it', async (t) => {
  const { service } = await everyWay(t)
  await withNamespaces(service, 'a', 'b')
  // Prevents that a request deletes what the next needs.
  for (const key of ['a', 'b'])
    await service.request('POST', `/api/v1/namespaces/${key}/flags`, { key: 'kept', name: 'kept' })
  const records = new Map<string, string>([['nowhere', '00000000-0000-4000-8000-000000000000']])
  for (const namespaceKey of ['a', 'b', 'default'])
    records.set(namespaceKey, (await granted(service, { namespaceKey })).id)
  const rows = await guarded(service)
  t.ok(rows.length > 70)
  const seen = new Map<Verdict, number>()

  const ask = async (
    row: Row,
    asked: Token,
    headers: Headers,
    { one, two, at, explain }: { one: string; two: string; at: boolean; explain: boolean },
  ) => {
    const { verb, path } = row
    const way = wayOf(row, one, two)
    const queries = [
      way.query ?? '',
      at && row.takes.includes('at') ? 'at=1' : '',
      explain && row.takes.includes('explain') ? 'explain=true' : '',
      path === '/auth/v1/self/expire' ? 'expiresAt=never' : '',
      'variantId=none',
    ].filter((query) => query !== '')
    const more: Right[] = []
    if (isPart(queries.join('&'), 'explain')) more.push('flag.read')
    if (isPart(queries.join('&'), 'at') && isPastOfFlags(path)) more.push('history.read')
    const filled = path
      .replace(/\{namespaceKey\}/, one)
      .replace(/^(\/internal\/.*)\{key\}/, `$1${one}`)
      .replace(/\{namespace\}/, one)
      .replace(/^(\/auth\/v1\/tokens\/)\{id\}/, `$1${records.get(one)}`)
      .replaceAll(/\{\w+\}/g, 'none')
    const answer = await service.request(
      verb,
      `${filled}?${queries.join('&')}`,
      verb === 'GET' || verb === 'DELETE' ? undefined : (way.body ?? {}),
      { ...headers, ...way.headers },
    )
    const challenge = answer.headers['www-authenticate']
    const isExcess = answer.text.includes('grant exceeds your own')
    const found: Verdict =
      answer.status !== 403 || isExcess ? 'taken' : challenge?.includes('scope="') ? 'right_missing' : 'token_scoped'
    // A missing record counts as not bound to a namespace.
    const of = way.kind === 'record' && one === 'nowhere' ? { ...way, places: ['*'] } : way
    const due = verdict(asked, row.right === 'none' ? undefined : (row.right as Right), of, more)
    seen.set(due, (seen.get(due) ?? 0) + 1)
    if (found !== due)
      throw new Error(
        `${verb} ${filled}?${queries.join('&')} in ${one}: ${found}, not ${due}: ${answer.status} ${answer.text}`,
      )
  }

  await fc.assert(
    fc.asyncProperty(token, fc.array(asking, { minLength: 2, maxLength: 2 }), async (asked, askings) => {
      const { headers } = await granted(service, asked)
      for (const row of rows) for (const how of askings) await ask(row, asked, headers, how)
    }),
    // Always includes a bound token that requests other namespaces.
    { numRuns: 24, examples: [[{ namespaceKey: 'a' }, [elsewhere, { ...elsewhere, one: 'nowhere' }]]] },
  )
  for (const one of ['taken', 'right_missing', 'token_scoped'] as const) t.ok((seen.get(one) ?? 0) > 50, one)
})
