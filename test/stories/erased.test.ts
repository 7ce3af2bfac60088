import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import type { SubjectErased, SubjectsFound } from '../../src/contract/history/searches.ts'
import { rollcall } from '../cli/service.ts'
import { onCluster } from '../cluster/own.ts'
import { bearer, everyWay, logIn, OIDC } from '../http/people.ts'
import type { Started } from '../start.ts'
import { everythingKept, formsOf } from './kept.ts'

/** Number of people who log in; half of them are erased. */
const PEOPLE = Number(process.env['ROLLCALL_TEST_LOGINS'] ?? 12)

type Person = {
  readonly sub: string
  readonly canaries: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** A person with a canary in every personal field. */
const personOf = (n: number): Person => {
  const id = `canary${String(n).padStart(4, '0')}x`
  const address = `198.51.${n >> 8}.${n & 255}`
  return {
    sub: `sub-${id}`,
    canaries: [id],
    headers: { accept: 'application/json', 'user-agent': `agent-${id}`, 'x-forwarded-for': address },
    claims: {
      sub: `sub-${id}`,
      email: `${id}@example.com`,
      email_verified: true,
      name: `Name ${id}`,
      picture: `https://x.example/${id}.png`,
      preferred_username: id,
      groups: [`group-${id}`],
    },
  }
}

/** Stored form of each key of an embedded store, by subject. */
const wrappedKeys = async ({ directory }: Started): Promise<ReadonlyMap<string, Buffer>> => {
  const database = await openDatabase(join(directory, 'data', 'subjects.sqlite'), 'read')
  try {
    const rows = database.prepare('select subject, key from subjects where key is not null').all() as {
      readonly subject: string
      readonly key: Uint8Array
    }[]
    return new Map(rows.map(({ subject, key }) => [subject, Buffer.from(key)]))
  } finally {
    database.close()
  }
}

const foundIn = async (service: Started, texts: readonly Buffer[]): Promise<readonly string[]> =>
  (await everythingKept(service.directory)).flatMap(([place, bytes]) =>
    place.startsWith('before') ? [] : texts.some((text) => bytes.includes(text)) ? [place] : [],
  )

await t.test('after an erasure no data has personal texts or the keys, and every proof verifies', async (t) => {
  const { service, liar } = await everyWay(t, { 'log.level': 'DEBUG', 'server.trust_proxy': 'true' })
  const { directory, request } = service
  const people = Array.from({ length: PEOPLE }, (_, n) => personOf(n + 1))
  for (const { claims, headers } of people) {
    liar.lies = { claims }
    const { token } = await logIn(service, OIDC, headers)
    await request('POST', '/auth/v1/method/token', { name: 'made' }, { ...headers, ...bearer(token) })
  }
  const subjectOf = async ({ sub: identity }: Person) => {
    const body = { method: 'METHOD_OIDC', identity }
    const { json } = await request<SubjectsFound>('POST', '/audit/v1/subjects/find', body)
    return json.subjects[0]!.subject
  }

  const env = () => ({ ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token })
  const file = (name: string) => join(directory, `before-${name}`)
  const cli = async (...args: readonly string[]) => {
    const { exit, err, out } = await rollcall([...args], env())
    t.equal(exit, 0, `${args.join(' ')}: ${err}`)
    return out
  }
  const { vkey } = (await request<{ keys: { vkey: string }[] }>('GET', '/audit/v1/ledger')).json.keys[0]!
  const position = (await cli('events', 'list', '--type', 'TokenIssued', '--order', 'desc', '-o', 'name')).split(
    '\n',
  )[0]!
  await cli('checkpoint', '--seal', '--save', file('checkpoint'))
  await cli('events', 'export', file('export'))
  await cli('prove', position, '-o', file('proof'))
  const opened = async () =>
    (await request('GET', '/audit/v1/events?personal=open&limit=1000&type=TokenIssued,LoginCompleted')).text

  const [erased, kept] = [people.slice(0, PEOPLE / 2), people.slice(PEOPLE / 2)]
  const wanted = (some: readonly Person[]) => some.flatMap(({ canaries }) => canaries)
  const before = await opened()
  for (const canary of wanted(people)) t.match(before, canary, 'the profile is readable before')
  const keys = onCluster ? new Map<string, Buffer>() : await wrappedKeys(service)
  const gone: string[] = []
  for (const person of erased) {
    const body = { subject: await subjectOf(person), reason: 'request of the person' }
    const { json } = await request<SubjectErased>('POST', '/audit/v1/subjects/erase', body)
    t.equal(json.keys.length, 2, 'the person and the session had a key')
    gone.push(...json.keys)
  }

  const after = await opened()
  for (const canary of wanted(erased)) t.notMatch(after, canary)
  for (const canary of wanted(kept)) t.match(after, canary)
  const erasedFields = after.match(/"status":"erased"/g)?.length ?? 0
  t.ok(erasedFields >= 5 * erased.length, `${erasedFields} fields are erased`)
  for (const path of ['/metrics', '/auth/v1/tokens?limit=100', '/openapi.json'])
    for (const canary of wanted(erased)) t.notMatch((await request('GET', path)).text, canary, path)

  // What existed before the erasure stays valid.
  await cli('events', 'verify', file('export'), '--vkey', vkey)
  await cli('verify-proof', file('proof'), '--vkey', vkey)
  await cli('checkpoint', '--seal', '--compare', file('checkpoint'))
  for (const when of ['running', 'closed']) {
    if (when === 'closed') await service.close()
    const texts = wanted(people).flatMap(formsOf)
    t.strictSame(await foundIn(service, texts), [], `no personal data in plain text, ${when}`)
    if (onCluster) continue
    const former = gone.map((subject) => keys.get(subject)!)
    t.strictSame(await foundIn(service, former), [], `no key of an erased person, ${when}`)
    const others = [...keys].flatMap(([subject, key]) => (gone.includes(subject) ? [] : [key]))
    t.strictSame(await foundIn(service, others), ['data/subjects.sqlite'], 'a key that exists is found')
  }
  if (onCluster) return
  const data = join(directory, 'data')
  await cli('events', 'verify', '--data', data, '--checkpoint', file('checkpoint'), '--vkey', vkey)
})
