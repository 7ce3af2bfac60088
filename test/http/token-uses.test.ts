import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import type { Authentication, AuthenticationList } from '../../src/contract/token.ts'
import { lastUses } from '../../src/jobs/last-uses.ts'
import type { Views } from '../../src/projections/views.ts'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { bearer, type Issued } from './people.ts'

const HOUR = 3_600_000

await t.test('a token record has the hour of its last use, and no event is written for it', async (t) => {
  let time = Date.parse('2031-06-10T09:30:00Z')
  const service = await startService(t, {}, { now: () => new Date(time) })
  const { request } = service
  const { json: made } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'ci' })
  const { id } = made.authentication
  const read = async (query = '') => {
    const { json } = await request<Authentication>('GET', `/auth/v1/tokens/${id}${query}`)
    const list = await request<AuthenticationList>('GET', `/auth/v1/tokens?q=ci${query.replace('?', '&')}`)
    t.equal(list.json.authentications[0]?.lastUsedAt, json.lastUsedAt, 'the list says the same')
    return json.lastUsedAt
  }
  const use = (status = 200) =>
    request('GET', '/auth/v1/self', undefined, bearer(made.clientToken)).then((answer) =>
      t.equal(answer.status, status),
    )
  const position = async () =>
    Number((await request('POST', '/auth/v1/method/token', { name: 'mark' })).headers['event-position'])

  t.equal(await read(), undefined, 'not used yet')
  const before = await position()
  await use()
  t.equal(await read(), '2031-06-10T09:00:00Z')
  await use()
  time += HOUR
  t.equal(await read(), '2031-06-10T09:00:00Z', 'another hour alone is no use')
  await use()
  t.equal(await read(), '2031-06-10T10:00:00Z')
  // Positions on servers have gaps.
  if (!onCluster) t.equal(await position(), before + 1, 'no event came of it')
  time += 10 * HOUR
  t.equal(await read('?at=2031-06-10T11:05:00Z'), '2031-06-10T10:00:00Z', 'at a moment behind that hour')
  t.equal(await read('?at=2031-06-10T10:15:00Z'), undefined, 'unknown within the hour')
  t.equal(
    (await request<Authentication>('GET', '/auth/v1/self', undefined, bearer(made.clientToken))).json.lastUsedAt,
    undefined,
  )
  t.equal(await read(), '2031-06-10T20:00:00Z')

  await service.reopen()
  t.equal(await read(), '2031-06-10T20:00:00Z', 'it survives a restart')
  await request('DELETE', `/auth/v1/tokens/${id}`)
  time += HOUR
  await use(401)
  t.equal(
    (await request<Authentication>('GET', `/auth/v1/tokens/${id}?deleted=true`)).json.lastUsedAt,
    '2031-06-10T20:00:00Z',
  )
})

/** In-memory records; `others` is called before each write. */
const memory = (others: (key: string) => void = () => undefined) => {
  const kept = new Map<string, { revision: number; value: { at: string } }>()
  let [reads, writes, down] = [0, 0, false]
  const views = {
    records: async (_: string, keys: readonly string[]) => {
      if (down) throw new Refusal('backend_unavailable')
      reads++
      return new Map(keys.flatMap((key) => (kept.has(key) ? [[key, kept.get(key)!] as const] : [])))
    },
    swapRecord: async (_: string, key: string, expected: number, value: { at: string }) => {
      others(key)
      writes++
      const revision = kept.get(key)?.revision ?? 0
      if (revision === expected) kept.set(key, { revision: revision + 1, value })
      return revision === expected
    },
  }
  return {
    views: views as unknown as Pick<Views, 'records' | 'swapRecord'>,
    kept,
    counts: () => ({ reads, writes }),
    fail: (is: boolean) => void (down = is),
  }
}
const usesOf = (t: Test, store: ReturnType<typeof memory>) => {
  const errors: unknown[] = []
  const uses = lastUses({
    table: 'token-uses',
    views: store.views,
    clock: systemClock,
    onError: (error) => void errors.push(error),
  })
  t.teardown(uses.close)
  return { uses, errors }
}

await t.test('uses of tokens are written once an hour in batches, and wait if the store fails', async (t) => {
  const store = memory()
  const { uses, errors } = usesOf(t, store)
  for (let n = 0; n < 250; n++) t.equal(uses.note(`t${n}`, 5 * HOUR + 1), 6 * HOUR)
  t.equal(uses.note('t0', 6 * HOUR - 1), 6 * HOUR)
  t.same(
    await uses.lastOf(['t0', 'nobody']),
    new Map([['t0', '1970-01-01T05:00:00.000Z']]),
    'known before it is written',
  )
  store.fail(true)
  await uses.flush()
  t.equal(errors.length, 1)
  t.same([...(await uses.lastOf(['t0'])).keys()], ['t0'], 'and while the store is out of reach')
  store.fail(false)
  await uses.flush()
  t.equal(store.kept.size, 100, 'a hundred at most in one go')
  await uses.flush()
  await uses.flush()
  t.equal(store.kept.size, 250)
  await uses.flush()
  t.equal(store.counts().writes, 250, 'each once')
  uses.note('t0', 5 * HOUR)
  await uses.flush()
  t.equal(store.counts().writes, 250, 'what is known already is not written again')
  uses.note('t0', 4 * HOUR)
  await uses.flush()
  t.equal(store.kept.get('t0')?.value.at, '1970-01-01T05:00:00.000Z', 'a clock set back takes nothing away')
})

await t.test('if two instances record a use of a token, the later hour is kept', async (t) => {
  let quicker: string | undefined = '1970-01-01T07:00:00.000Z'
  const store = memory((key) => {
    if (quicker !== undefined) store.kept.set(key, { revision: 9, value: { at: quicker } })
    quicker = undefined
  })
  const { uses } = usesOf(t, store)
  uses.note('a', 6 * HOUR)
  await uses.flush()
  await uses.flush()
  t.equal(store.kept.get('a')?.value.at, '1970-01-01T07:00:00.000Z')
  uses.note('a', 8 * HOUR)
  await uses.flush()
  t.equal(store.kept.get('a')?.value.at, '1970-01-01T08:00:00.000Z')
})
