import { join } from 'node:path'
import t from 'tap'
import { partsQuery } from '../../../src/adapters/embedded/read-only.ts'
import { eventsSchema } from '../../../src/adapters/embedded/schema.ts'
import { type Database, openDatabase, rowsOf } from '../../../src/adapters/embedded/sqlite.ts'
import { createIndex, createKey, createTable, shapeOf } from '../../../src/adapters/embedded/views/view-build.ts'
import { leastOf, queryOf } from '../../../src/adapters/embedded/views/view-query.ts'
import { type TokenFilter, wantedOf, whereOf } from '../../../src/http/auth/token-filter.ts'
import { stateView } from '../../../src/projections/history/stream-states.ts'
import { atPosition, conditionsOf } from '../../../src/projections/history/token-past.ts'
import { STATUSES, type TokenPage, tokensInOrder } from '../../../src/projections/token-status.ts'
import { ACCESSES, tokens } from '../../../src/projections/tokens.ts'
import type { Query, Views } from '../../../src/projections/views.ts'

const now = new Date('2026-01-02T03:04:05.678Z')
const all: TokenFilter = {
  method: undefined,
  identities: [],
  provider: '',
  namespaceKey: '',
  status: undefined,
  q: '',
  issuedBy: [],
}
const shape = { ...shapeOf(tokens), table: 'tokens' }
const [digest, list, names] = ['tokens_by_digest', 'tokens_by_createdAt_no_deletedAt', 'tokens_by_name_no_deletedAt']
const ofNamespace = 'tokens_by_namespace_createdAt_no_deletedAt'
const ofMethod = 'tokens_by_method_createdAt_no_deletedAt'

type Step = readonly [number, number, number, step: string]
const stepsOf = (database: Database, sql: string) =>
  (rowsOf(database, `explain query plan ${sql}`).all() as Step[]).map(([, , , step]) => step)

/** Steps of SQLite's query plan. */
const plans = (database: Database, query: Query, inOrder = false) => {
  const { page, total } = queryOf(shape, query, inOrder)
  const steps = ({ sql, values }: typeof page) => {
    const rows = rowsOf(database, `explain query plan ${sql}`).all(...values) as (readonly [
      number,
      number,
      number,
      string,
    ])[]
    return rows.map(([, , , step]) => step).filter((step) => !/^(CO-ROUTINE|SCAN \(subquery)/.test(step))
  }
  return { page: steps(page), total: steps(total) }
}

void t.test('every query for tokens uses an index that has the order of the result', async (t) => {
  const database = await openDatabase(join(t.testdir(), 'views.sqlite'), 'rebuildable')
  t.teardown(() => database.close())
  database.exec(createTable('tokens', shape))
  database.exec(createKey('tokens'))
  for (const index of shape.indexes) database.exec(createIndex('tokens', index))

  const behind = { after: { value: '2026-01-01T00:00:00.000Z', key: 'k' } }
  const listed = (filter: Partial<TokenFilter>, more: Partial<Query> = {}): Query => ({
    where: whereOf({ ...all, ...filter }, now),
    order: 'createdAt',
    limit: 26,
    count: 10_001,
    ...more,
  })
  const cleanUp = {
    where: {
      method: { equals: ['oidc'] },
      deletedAt: { equals: [undefined] },
      expiresAt: { below: now.toISOString() },
    },
    order: 'expiresAt',
    limit: 500,
  }
  const cases: readonly (readonly [name: string, query: Query, index: string])[] = [
    ['the default list', listed({}), list],
    ['its next page', listed({}, behind), list],
    ['of a namespace', listed({ namespaceKey: 'n' }), 'tokens_by_namespace_createdAt_no_deletedAt'],
    ['its next page', listed({ namespaceKey: 'n' }, behind), 'tokens_by_namespace_createdAt_no_deletedAt'],
    ['of a method', listed({ method: 'oidc' }), 'tokens_by_method_createdAt_no_deletedAt'],
    ['of a holder', listed({ identities: ['me'] }), 'tokens_by_identity_deletedAt_createdAt'],
    ['of a maker', listed({ issuedBy: ['it'] }), 'tokens_by_issuedBy_deletedAt_createdAt'],
    ...STATUSES.filter((status) => status !== 'EXPIRED').map(
      (status) =>
        [
          `of status ${status}`,
          listed({ status }),
          status === 'DELETED' ? 'tokens_by_createdAt_with_deletedAt' : list,
        ] as const,
    ),
    ['what the clean-up asks', cleanUp, 'tokens_by_method_expiresAt_no_deletedAt'],
    [
      'tokens without a fingerprint',
      { where: { fingerprint: { equals: [undefined] } }, order: 'createdAt', limit: 1, count: 50_000 },
      'tokens_by_createdAt_no_fingerprint',
    ],
    ...[{ below: 'k.2.' }, { from: 'k.2.~' }].map(
      (fingerprint) =>
        [
          'tokens of another pepper',
          { where: { fingerprint }, order: 'fingerprint', limit: 1, count: 50_000 },
          'tokens_by_fingerprint',
        ] as const,
    ),
    [
      'its next page',
      { ...cleanUp, after: { value: '2026-01-01T00:00:00.000Z', key: 'k' } },
      'tokens_by_method_expiresAt_no_deletedAt',
    ],
  ]
  for (const [name, query, index] of cases) {
    const { page, total } = plans(database, query)
    t.same(
      page.map((step) => step.replace(/^(SEARCH|SCAN) tokens USING (COVERING )?INDEX (\w+).*$/, '$3')),
      [index],
      `${name}: ${page.join('; ')}`,
    )
    t.ok(
      total.every((step) => step.includes(' COVERING INDEX tokens_by')),
      `${name}, counted: ${total.join('; ')}`,
    )
  }
  const covering = (where: Query['where']) => plans(database, { where, order: 'createdAt', limit: 26, count: 10_001 })
  for (const status of [undefined, ...STATUSES]) {
    const { known, unknown } = atPosition(wantedOf({ ...all, status }, now.toISOString()), 99n)
    for (const where of [...known.map((part) => part.where), ...unknown]) {
      const { page, total } = covering(where)
      t.match(page.join(), /USING (COVERING )?INDEX tokens_by_/, page.join('; '))
      if (!('expiresAt' in where)) t.equal(page.length, 1, 'in its order')
      t.match(
        total[0],
        status === 'EXPIRED' ? / INDEX tokens_by_/ : / COVERING INDEX tokens_by_createdAt/,
        `${JSON.stringify(where)}: ${total.join('; ')}`,
      )
      if (unknown.includes(where) || 'previousExpiry' in where) t.match(page[0], 'with_changed', page.join('; '))
    }
  }
  for (const access of ACCESSES) {
    const wanted = { ...wantedOf(all, now.toISOString()), access }
    t.match(covering(conditionsOf(wanted)), {
      page: [/ INDEX tokens_by_access_createdAt_no_deletedAt/],
      total: [/ COVERING INDEX tokens_by_access_createdAt_no_deletedAt/],
    })
    const parts = atPosition(wanted, 99n).known.map(({ where }) => [where, covering(where).page.join()] as const)
    for (const [where, plan] of parts.filter(([where]) => !('ended' in where))) {
      const isLost = where['fullUntil'] && 'from' in where['fullUntil']
      t.match(plan, isLost ? /with_fullUntil/ : /tokens_by_access_createdAt_no_deletedAt/, JSON.stringify(where))
    }
  }
  const holders = 'tokens_by_identity_deletedAt_createdAt'
  const [expired, expiredOf] = ['tokens_by_expiresAt_no_deletedAt', 'tokens_by_method_expiresAt_no_deletedAt']
  const others: readonly (readonly [name: string, query: Query, index: string])[] = [
    ['of some holders', listed({ identities: ['me', 'and me'] }), holders],
    [
      'of a holder and provider',
      listed({ identities: ['me'], provider: 'p', method: 'oidc', status: 'ACTIVE' }),
      'tokens_by_identity_deletedAt_createdAt',
    ],
    ['what a holder had', listed({ identities: ['me'], status: 'DELETED' }), holders],
    ['a token', { where: { digest: { equals: ['d'] } }, order: 'createdAt', limit: 1 }, digest],
    [
      'a token by its fingerprint',
      { where: { fingerprint: { equals: ['f'] } }, order: 'createdAt', limit: 1 },
      'tokens_by_fingerprint',
    ],
  ]
  for (const [name, query, index] of others) {
    const { page } = plans(database, query)
    t.match(page.join(), ` INDEX ${index} `, `${name}: ${page.join('; ')}`)
  }
  const few: readonly (readonly [name: string, query: Query, index: string, whereMany: string])[] = [
    ['by the beginning of the name', listed({ q: 'ci-' }), names, list],
    ['of a namespace by name', listed({ q: 'ci-', namespaceKey: 'n' }), names, ofNamespace],
    ['that have expired', listed({ status: 'EXPIRED' }), expired, list],
    ['of a namespace that have expired', listed({ status: 'EXPIRED', namespaceKey: 'n' }), expired, ofNamespace],
    ['of a method that have expired', listed({ status: 'EXPIRED', method: 'oidc' }), expiredOf, ofMethod],
  ]
  for (const [name, query, index, whereMany] of few) {
    const { page, total } = plans(database, query)
    t.match(page.filter((step) => step.includes(' INDEX ')).join(), ` COVERING INDEX ${index} `, name)
    t.match(total[0], ` COVERING INDEX ${index} `, `${name}, counted: ${total.join('; ')}`)
    const many = plans(database, query, true).page
    t.match(many.join(), new RegExp(`^(SEARCH|SCAN) tokens USING INDEX ${whereMany}`), `${name}: ${many.join('; ')}`)
  }
})

void t.test('a combined read of many streams uses an index and sorts nothing', async (t) => {
  const database = await openDatabase(join(t.testdir(), 'both.sqlite'), 'rebuildable')
  t.teardown(() => database.close())
  database.exec(eventsSchema)
  const states = shapeOf(stateView)
  database.exec(createTable(states.table, states))
  for (const index of states.indexes) database.exec(createIndex(states.table, index))
  const parts = stepsOf(database, partsQuery)
  t.match(parts, [/^SCAN part /, /^SEARCH e USING INDEX events_stream \(stream=\? AND revision>\? AND revision<\?\)/])
  t.equal(parts.length, 2, parts.join('; '))
  const least = stepsOf(database, leastOf(states.table, 'stream', 'before'))
  t.match(least.join('; '), /SEARCH stream_states_\d+ USING INDEX \S+_by_stream_before \(stream=\? AND before>\?\)$/)
})

void t.test('a list sorted by another field than the creation time uses the index of that field', async (t) => {
  const database = await openDatabase(join(t.testdir(), 'views.sqlite'), 'rebuildable')
  t.teardown(() => database.close())
  database.exec(createTable('tokens', shape))
  database.exec(createKey('tokens'))
  for (const index of shape.indexes) database.exec(createIndex('tokens', index))

  /** Queries of one page. */
  const asked = async (filter: Partial<TokenFilter>, sort: TokenPage['sort'] & string): Promise<readonly Query[]> => {
    const queries: Query[] = []
    const list: Views['list'] = async (_, query) => {
      queries.push(query)
      return { rows: [], total: 0 }
    }
    await tokensInOrder({ list }, whereOf({ ...all, ...filter }, now), { sort, limit: 26, count: 10_001 })
    return queries
  }
  const [live, deleted] = ['tokens_by_method_expiresAt_no_deletedAt', 'tokens_by_method_expiresAt_with_deletedAt']
  const [named, namedDeleted] = ['tokens_by_name_no_deletedAt', 'tokens_by_name_with_deletedAt']
  const cases: readonly (readonly [Partial<TokenFilter>, 'expiresAt' | 'name', readonly string[]])[] = [
    [{ method: 'token' }, 'expiresAt', [live, live]],
    [{ method: 'token', status: 'ACTIVE' }, 'expiresAt', [live, live]],
    [{ method: 'token', status: 'EXPIRED' }, 'expiresAt', [live]],
    [{ method: 'token', status: 'DELETED' }, 'expiresAt', [deleted, deleted]],
    [{ method: 'token' }, 'name', [named]],
    [{ method: 'token', q: 'ci-' }, 'name', [named]],
    [{ method: 'token', status: 'DELETED' }, 'name', [namedDeleted]],
  ]
  for (const [filter, sort, indexes] of cases) {
    const queries = await asked(filter, sort)
    const found = queries.map((query) => plans(database, query).page.join('; '))
    t.equal(found.length, indexes.length)
    for (const [n, index] of indexes.entries()) {
      t.match(found[n], ` INDEX ${index} `, `${JSON.stringify(filter)} by ${sort}: ${found[n]}`)
      t.notMatch(found[n], 'TEMP B-TREE', `${JSON.stringify(filter)} by ${sort}, in its order: ${found[n]}`)
    }
  }
  for (const sort of ['expiresAt', 'name'] as const)
    for (const filter of [
      { namespaceKey: 'n', method: 'token' },
      { method: 'oidc' },
      { account: 'ci/', method: 'orchestrator' },
    ] as const)
      for (const query of await asked(filter, sort))
        for (const inOrder of [false, true]) {
          const { page } = plans(database, query, inOrder)
          t.match(page.join(), / INDEX tokens_/, `${JSON.stringify(filter)} by ${sort}: ${page.join('; ')}`)
          if (inOrder)
            t.notMatch(page.join(), 'TEMP B-TREE', `${JSON.stringify(filter)} by ${sort}: ${page.join('; ')}`)
        }
})
