import t from 'tap'
import type { Authentication, AuthenticationList } from '../../src/contract/token.ts'
import { METHODS } from '../../src/events/token.ts'
import type { Started } from '../start.ts'
import { CODEHOST, EXCHANGE, everyWay, logIn, OIDC, open, refusalOf } from './people.ts'

const NEW = '/auth/v1/method/token'
const SORTS = ['createdAt', 'expiresAt', 'name'] as const
type Sort = (typeof SORTS)[number]

/** Reads a list in pages of two; returns all records and the counts. */
const pages = async ({ request }: Started, query: string) => {
  const ids: string[] = []
  for (let token = '', total = 0; ; ) {
    const path = `/auth/v1/tokens?limit=2&pageToken=${encodeURIComponent(token)}&${query}`
    const { json } = await request<AuthenticationList>('GET', path)
    if (token !== '' && json.totalCount !== total) throw new Error(`${json.totalCount} and ${total} in one list`)
    total = json.totalCount
    ids.push(...json.authentications.map(({ id }) => id))
    if ((token = json.nextPageToken) === '') return { ids, total }
  }
}

/** Sort value of a record; undefined if absent. */
const valueOf = (record: Authentication, sort: Sort): string | undefined => {
  if (sort === 'name') return record.metadata['io.service.auth.token.name']?.toLowerCase()
  const instant = record[sort]
  return instant === undefined ? undefined : new Date(instant).toISOString()
}

/** Ids in the order of the contract: absent values last, ties by id. */
const inOrder = (records: readonly Authentication[], sort: Sort, descending: boolean): readonly string[] => {
  const byText = (one: string, other: string) => Buffer.from(one).compare(Buffer.from(other)) * (descending ? -1 : 1)
  return records
    .toSorted((one, other) => {
      const [a, b] = [valueOf(one, sort), valueOf(other, sort)]
      if (a === undefined || b === undefined) return a === b ? byText(one.id, other.id) : a === undefined ? 1 : -1
      return byText(a, b) || byText(one.id, other.id)
    })
    .map(({ id }) => id)
}

await t.test('tokens are sorted by creation, expiry or name with any filter, now and in the past', async (t) => {
  const { service, cluster } = await everyWay(t)
  const { request } = service
  const day = (n: number) => new Date(Date.UTC(2040, 0, n)).toISOString()
  const made: string[] = []
  for (const [name, expiresAt, namespaceKey] of [
    ['beta', day(3), ''],
    ['Alpha', undefined, 'default'],
    ['alpha', day(1), 'default'],
    ['gamma', day(2), ''],
    ['ALPHA', day(1), ''],
    ['\u{ffee}', undefined, ''],
    ['\u{1f600}', day(9), 'default'],
    ['delta', undefined, ''],
    ['omega', day(1), 'default'],
    ['zeta', day(5), ''],
  ] as const) {
    const { json } = await request<{ authentication: { id: string }; clientToken: string }>('POST', NEW, {
      name,
      ...(expiresAt && { expiresAt }),
      namespaceKey,
    })
    made.push(json.authentication.id)
    if (name === 'zeta')
      await request('PUT', `/auth/v1/self/expire?expiresAt=${day(4)}`, undefined, {
        authorization: `Bearer ${json.clientToken}`,
      })
  }
  await logIn(service, OIDC)
  await logIn(service, CODEHOST)
  await request('POST', EXCHANGE, { serviceAccountToken: await cluster.token() }, open)
  const bystander = await request<{ clientToken: string }>('POST', NEW, { name: 'bystander' })
  for (const id of [made[2]!, made[5]!, made[8]!]) await request('DELETE', `/auth/v1/tokens/${id}`)
  const last = await request('DELETE', `/auth/v1/tokens/${made[9]!}`)
  const at = String(last.headers['event-position'])

  const all = async (query: string) =>
    (await request<AuthenticationList>('GET', `/auth/v1/tokens?limit=100${query}`)).json.authentications
  const records = [...(await all('')), ...(await all('&status=DELETED'))]
  t.equal(records.length, 15)

  const held = async (moment: string) => {
    for (const sort of SORTS)
      for (const order of ['asc', 'desc'])
        for (const [query, isIn] of [
          ['', ({ status }: Authentication) => status !== 'DELETED'],
          ['&status=ACTIVE&kind=static', ({ status, method }) => status === 'ACTIVE' && method === 'METHOD_TOKEN'],
          ['&status=DELETED', ({ status }) => status === 'DELETED'],
          ['&kind=session', ({ method }) => method !== 'METHOD_TOKEN'],
          ['&method=METHOD_ORCHESTRATOR', ({ method }) => method === 'METHOD_ORCHESTRATOR'],
          [
            '&kind=static&namespaceKey=default',
            (one) => one.status === 'ACTIVE' && one.metadata['io.service.auth.token.namespace'] === 'default',
          ],
          [
            '&kind=static&q=aLPh',
            (one) => one.status === 'ACTIVE' && /^alph/i.test(one.metadata['io.service.auth.token.name'] ?? ''),
          ],
          ['&status=EXPIRED', () => false],
        ] satisfies readonly (readonly [string, (record: Authentication) => boolean])[]) {
          const expected = inOrder(records.filter(isIn), sort, order === 'desc')
          const found = await pages(service, `sort=${sort}&order=${order}${query}${moment}`)
          t.same(found, { ids: expected, total: expected.length }, `${sort} ${order} ${query}${moment}`)
        }
  }
  await held('')
  // Later changes do not affect the past list: a creation, an earlier expiry, a deletion.
  await request('POST', NEW, { name: 'aaa', expiresAt: day(1) })
  await request('PUT', `/auth/v1/self/expire?expiresAt=${day(2)}`, undefined, {
    authorization: `Bearer ${bystander.json.clientToken}`,
  })
  await request('DELETE', `/auth/v1/tokens/${made[0]!}`)
  // Waits until the read model is caught up.
  await all('')
  await held(`&at=${at}`)

  await t.test('a page token is valid for one order of the list, and unknown orders are refused', async (t) => {
    const { json } = await request<AuthenticationList>('GET', '/auth/v1/tokens?limit=1&sort=name')
    for (const query of ['', '&sort=expiresAt', '&sort=name&order=desc'])
      t.equal(
        refusalOf(await request('GET', `/auth/v1/tokens?pageToken=${json.nextPageToken}${query}`)).reason,
        'invalid_page_token',
      )
    t.equal(refusalOf(await request('GET', '/auth/v1/tokens?sort=updatedAt')).status, 400)
  })

  await t.test('a token record is read by id, and a deleted one on request', async (t) => {
    const path = `/auth/v1/tokens/${made[2]!}`
    t.equal((await request('GET', path)).status, 404)
    const { status, json } = await request<Authentication>('GET', `${path}?deleted=true`)
    t.equal(status, 200)
    t.match(json, { id: made[2]!, status: 'DELETED', deletedAt: /Z$/, issuedBy: /^[0-9a-f-]{36}$/ })
    t.equal((await request('GET', `${path}?deleted=true&at=${at}`)).status, 200, 'at a moment too')
    t.equal((await request('GET', '/auth/v1/tokens/nobody?deleted=true')).status, 404)
    t.equal((await request<Authentication>('GET', `/auth/v1/tokens/${made[1]!}?deleted=true`)).json.status, 'ACTIVE')
    t.equal((await request('GET', `${path}?deleted=maybe`)).status, 400)
  })
})

await t.test('the search for a service account finds its sessions only', async (t) => {
  const { service, cluster } = await everyWay(t)
  const { request } = service
  await logIn(service, OIDC)
  await logIn(service, CODEHOST)
  await request('POST', EXCHANGE, { serviceAccountToken: await cluster.token() }, open)
  const methodsOf = async (query: string) => {
    const { json } = await request<AuthenticationList>('GET', `/auth/v1/tokens?kind=session&${query}`)
    return json.authentications.map(({ method }) => method).toSorted()
  }
  const every = METHODS.filter((method) => method !== 'token').map((method) => `METHOD_${method.toUpperCase()}`)
  t.same(await methodsOf(''), every.toSorted())
  const { json } = await request<AuthenticationList>('GET', '/auth/v1/tokens?method=METHOD_ORCHESTRATOR')
  const part = (name: string) => json.authentications[0]!.metadata[`io.service.auth.orchestrator.${name}`]!
  const account = `${part('namespace')}/${part('serviceaccount.name')}`
  for (const q of [account, account.slice(0, 3), account.toUpperCase()])
    t.same(await methodsOf(`q=${encodeURIComponent(q)}`), ['METHOD_ORCHESTRATOR'], q)
  t.same(await methodsOf(`q=${encodeURIComponent(account)}&sort=expiresAt`), ['METHOD_ORCHESTRATOR'])
  t.same(await methodsOf(`q=${encodeURIComponent(account)}&identity=${encodeURIComponent(account)}`), [
    'METHOD_ORCHESTRATOR',
  ])
  t.same(await methodsOf(`q=x${encodeURIComponent(account)}&identity=${encodeURIComponent(account)}`), [])
  t.same(await methodsOf('q=nobody'), [])
  t.same(await methodsOf('q=nobody&method=METHOD_OIDC'), ['METHOD_OIDC'], 'a list without search is complete')
  t.same(await methodsOf('q=nobody&method=METHOD_ORCHESTRATOR'), [])
})
