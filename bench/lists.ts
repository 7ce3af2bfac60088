import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openEmbedded } from '../src/adapters/embedded/open.ts'
import { openDatabase, rowsOf } from '../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../src/base/clock.ts'
import { METHODS } from '../src/events/token.ts'
import { type TokenFilter, whereOf } from '../src/http/auth/token-filter.ts'
import { START } from '../src/projections/engine/checkpoints.ts'
import { type TokenDoc, tokens } from '../src/projections/tokens.ts'
import type { Query, Row as ViewRow, Views } from '../src/projections/views.ts'
import { newStore } from './log-store.ts'
import { progress, type Row, row, seconds } from './measure.ts'

const FEW = Number(process.env['ROLLCALL_BENCH_FEW'] ?? 40_000)
const MANY = Number(process.env['ROLLCALL_BENCH_TOKENS'] ?? 1_000_000)
const AT_ONCE = 1000
const ROUNDS = 15
const NOW = new Date('2026-06-01T00:00:00.000Z')

const timeOf = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString()

/** One of so many tokens: four methods, ten namespaces, twenty tokens a holder; a hundred or so have expired. `deleted` of ten are deleted. */
const tokenRow = (n: number, of: number, deleted: number): ViewRow<TokenDoc> => {
  const id = `${String((n * 7919) % of).padStart(8, '0')}-token`
  const mixed = Math.imul(n + 1, 0x9e37_79b1) >>> 0
  const method = METHODS[(mixed >>> 8) % METHODS.length]!
  const holder = `holder-${Math.floor(n / 80)}`
  const doc: TokenDoc = {
    id,
    digest: `k1.${id}`,
    began: n + 1,
    method,
    createdAt: timeOf(n - of),
    updatedAt: timeOf(n - of),
    namespace: `n${(mixed >>> 12) % 10}`,
    access: 'NAMESPACED',
    attributes: { 'token.description': 'made by a benchmark, with a text as long as that of most' },
    metadata: {},
    issuedBy: `maker-${Math.floor(n / 100)}`,
    identity: holder,
    ...(method === 'token' && { name: `ci-${n}` }),
    ...(n % 3 !== 0 && { expiresAt: timeOf(n % Math.floor(of / 200) === 1 ? n - of : n + 1000) }),
    ...((mixed >>> 18) % 10 < deleted && { deletedAt: timeOf(n) }),
  }
  return { key: id, revision: 0n, position: BigInt(n + 1), changes: 1n, doc }
}

/** Resolves once all indexes of the view are made. */
const indexed = async (directory: string) => {
  const database = await openDatabase(join(directory, 'views.sqlite'), 'read')
  const sql = "select count(*) from sqlite_schema where type = 'index' and tbl_name = ? and name glob '*_by_*'"
  const made = rowsOf(database, sql)
  while ((made.get(`${tokens.name}_${tokens.version}`) as [number])[0] < tokens.indexes.length) await pause(100)
  database.close()
}

const all: TokenFilter = {
  method: undefined,
  identities: [],
  provider: '',
  namespaceKey: '',
  status: undefined,
  q: '',
  issuedBy: [],
}
const filters: Readonly<Record<string, Partial<TokenFilter>>> = {
  'no filter': {},
  method: { method: 'oidc' },
  namespace: { namespaceKey: 'n3' },
  'namespace and method': { namespaceKey: 'n3', method: 'codehost' },
  ACTIVE: { status: 'ACTIVE' },
  EXPIRED: { status: 'EXPIRED' },
  DELETED: { status: 'DELETED' },
  'namespace and EXPIRED': { namespaceKey: 'n1', status: 'EXPIRED' },
  'method and EXPIRED': { method: 'oidc', status: 'EXPIRED' },
  'method and DELETED': { method: 'oidc', status: 'DELETED' },
  'namespace and DELETED': { namespaceKey: 'n3', status: 'DELETED' },
  'name, all': { q: 'ci-' },
  'name, some': { q: 'ci-1' },
  'name, one': { q: 'ci-20' },
  holder: { identities: ['holder-7'] },
  maker: { issuedBy: ['maker-7'] },
}
const queries: Readonly<Record<string, Query>> = {
  ...Object.fromEntries(
    Object.entries(filters).map(([name, filter]) => [
      `first page, ${name}`,
      { where: whereOf({ ...all, ...filter }, NOW), order: 'createdAt', limit: 26, count: 10_001 },
    ]),
  ),
  'clean-up': {
    where: { method: { equals: ['oidc'] }, deletedAt: { equals: [undefined] }, expiresAt: { below: timeOf(-1000) } },
    order: 'expiresAt',
    limit: 500,
  },
}

type Filled = { readonly views: Views; readonly done: () => Promise<void> }

const filled = async (count: number, deleted: number): Promise<Filled> => {
  progress(`${count} tokens, ${deleted} of ten deleted`)
  const store = await newStore()
  const building = await store.views.build(tokens)
  for (let n = 0; n < count; n += AT_ONCE)
    await building.put(Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, k) => tokenRow(n + k, count, deleted)))
  await building.swap({ ...START, rows: count })
  await indexed(store.directory)
  await store.close()
  const { views, close } = await openEmbedded(store.directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: () => {},
  })
  return { views, done: async () => close().then(store.done) }
}

const took = async (views: Views, query: Query): Promise<number> => {
  const times: number[] = []
  await views.list(tokens, query)
  for (let round = 0; round < ROUNDS; round++) times.push(await seconds(() => views.list(tokens, query)))
  return Math.min(...times)
}

const ms = (time: number) => `${(time * 1000).toFixed(2)} ms`

/** B19: what is asked of many tokens, against the same of few. B20: the same with nine of ten deleted, against none deleted. */
export const run = async (): Promise<readonly Row[]> => {
  progress('B19, B20: lists of tokens')
  const stores = [await filled(FEW, 1), await filled(MANY, 1), await filled(MANY, 9)] as const
  try {
    const found: (readonly [name: string, many: number, deleted: number])[] = []
    for (const [name, query] of Object.entries(queries)) {
      const few = await took(stores[0].views, query)
      const [many, deleted] = [await took(stores[1].views, query), await took(stores[2].views, query)]
      progress(`${name}: ${ms(few)}; ${ms(many)}, ${ms(deleted)} where nine of ten are deleted`)
      found.push([name, many / few, deleted / few])
    }
    const worst = (id: string, what: string, of: typeof found, ratio: 1 | 2) => {
      const most = of.reduce((one, other) => (other[ratio] > one[ratio] ? other : one))
      const note = `the worst of ${of.length}: ${most[0]}`
      return row(id, `${what} / the same of ${FEW}`, most[ratio], { atMost: 3 }, '', note)
    }
    const isPair = ([name]: (typeof found)[number]) => name.includes(' and ')
    const [one, two] = [found.filter((each) => !isPair(each)), found.filter(isPair)]
    return [
      worst('B19', `what is asked of ${MANY} tokens by one filter`, one, 1),
      worst('B19', `what is asked of ${MANY} tokens by two filters`, two, 1),
      worst('B20', `the same by one filter where nine of ten are deleted`, one, 2),
      worst('B20', `the same by two filters where nine of ten are deleted`, two, 2),
    ]
  } finally {
    for (const { done } of stores) await done()
  }
}
