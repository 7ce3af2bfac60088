import t from 'tap'
import { startService } from '../../start.ts'

const FLAGS = 150
type Listed = {
  readonly totalCount: number
  readonly nextPageToken: string
  readonly flags: readonly { readonly key: string }[]
}

await t.test('a past list that is searched or sorted has all items of the moment', async (t) => {
  const { request } = await startService(t)
  const base = '/api/v1/namespaces/default/flags'
  const name = (n: number) => `name ${String(FLAGS - n).padStart(3, '0')}`
  let position = ''
  for (let n = 0; n < FLAGS; n++) {
    const body = { key: `f${n}`, name: name(n), type: 'BOOLEAN_FLAG_TYPE', description: 'x'.repeat(8_000) }
    const { status, headers } = await request('POST', base, body)
    t.equal(status, 200)
    position = String(headers['event-position'])
  }
  await request('DELETE', `${base}/f7`)
  const keys = Array.from({ length: FLAGS }, (_, n) => `f${n}`)
  for (const [query, wanted] of [
    ['', keys],
    ['&sort=name', keys.toReversed()],
    ['&sort=name&order=desc', keys],
    ['&q=NAME', keys],
    ['&q=name%2000', Array.from({ length: 9 }, (_, n) => `f${FLAGS - 9 + n}`)],
  ] as const) {
    const found: string[] = []
    for (let token = ''; ; ) {
      const { status, json } = await request<Listed>(
        'GET',
        `${base}?at=${position}${query}&limit=40&pageToken=${token}`,
      )
      t.equal(status, 200)
      t.equal(json.totalCount, wanted.length, `${query}: how many`)
      found.push(...json.flags.map(({ key }) => key))
      token = json.nextPageToken
      if (token === '') break
    }
    t.strictSame(found, wanted, `${query}: which`)
  }
})
