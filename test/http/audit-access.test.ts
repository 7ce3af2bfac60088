import t from 'tap'
import type { AccessReview } from '../../src/contract/access.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { bearer, everyWay, type Issued, logIn, OIDC, open, refusalOf } from './people.ts'

const withNamespaces = async (service: Started) => {
  for (const key of ['shop', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  return service
}
const made = async (service: Started, body: Fields) => {
  const { json, headers, status, text } = await service.request<Issued>('POST', '/auth/v1/method/token', body)
  if (status !== 200) throw new Error(text)
  return { id: json.authentication.id, token: json.clientToken, position: String(headers['event-position']) }
}
const review = async ({ request }: Started, search: string, headers = {}) =>
  request<AccessReview>('GET', `/audit/v1/access?${search}`, undefined, headers)
const names = ({ entries }: AccessReview) => entries.map(({ name }) => name)
const grants = (...list: readonly string[]) => ({
  grants: list.map((text) => ({ role: text.split('@')[0], namespaceKey: text.split('@')[1] })),
})

await t.test('an access review lists the tokens with a right in a namespace, each with the reason', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, {}, { clock })
  await withNamespaces(service)
  await made(service, { name: 'full' })
  await made(service, { name: 'bound', namespaceKey: 'shop' })
  await made(service, { name: 'narrowed', namespaceKey: 'shop', role: 'viewer' })
  await made(service, { name: 'elsewhere', namespaceKey: 'other' })
  await made(service, { name: 'editor', ...grants('client@*', 'editor@shop') })
  await made(service, { name: 'viewer', role: 'viewer' })
  await made(service, { name: 'expired', expiresAt: new Date(clock.now().getTime() + 3_600_000).toISOString() })
  const { authentication } = await logIn(service, OIDC)
  const { json } = await review(service, 'right=flag.update&namespaceKey=shop')
  const [boot, ...rest] = names(json)
  t.equal(boot, 'initial_bootstrap_token')
  t.strictSame(
    rest.filter((name) => name !== 'expired'),
    ['full', 'bound', 'editor', undefined],
    'oldest first',
  )
  t.strictSame(
    json.entries.map(({ reason }) => reason).filter((reason) => reason !== 'full_reach'),
    ['namespaced', 'granted'],
  )
  t.match(json.entries.find(({ name }) => name === 'editor')?.because, {
    grant: 1,
    namespaceKey: 'shop',
    role: 'editor',
  })
  t.match(json.entries.at(-1), { authenticationId: authentication.id, method: 'METHOD_OIDC', reason: 'full_reach' })
  t.match(json, { anonymous: false, nextPageToken: '', totalCount: json.entries.length, position: /^\d+$/, at: /Z$/ })

  clock.jump(3_600_000)
  const everywhere = (await review(service, 'right=flag.read')).json
  t.strictSame(
    names(everywhere),
    ['initial_bootstrap_token', 'full', 'viewer', undefined],
    'what has expired may nothing',
  )
  const operator = (await review(service, 'right=subject.erase&namespaceKey=shop')).json
  t.strictSame(names(operator), ['initial_bootstrap_token', 'full', undefined])
  t.match(refusalOf(await review(service, 'right=flag.fly')), { status: 400, message: /unknown right "flag.fly"/ })
  t.match(refusalOf(await review(service, 'right=flag.read&limit=-1')), { status: 400 })
})

await t.test('all pages of an access review show the state at one moment', async (t) => {
  const service = await withNamespaces(await startService(t))
  for (let n = 0; n < 12; n++)
    await made(service, { name: `n${n}`, ...[{}, { role: 'editor' }, { namespaceKey: 'shop' }][n % 3] })
  const due = names((await review(service, 'right=flag.update&namespaceKey=shop')).json)
  t.equal(due.length, 13)
  const seen: (string | undefined)[] = []
  let pageToken = ''
  const positions = new Set<string>()
  do {
    const { json } = await review(service, `right=flag.update&namespaceKey=shop&limit=5&pageToken=${pageToken}`)
    seen.push(...names(json))
    positions.add(`${json.position} ${json.at}`)
    t.equal(json.totalCount, 13)
    pageToken = json.nextPageToken
    await made(service, { name: 'later' })
  } while (pageToken !== '')
  t.strictSame(seen, due)
  t.equal(positions.size, 1)
  const { json } = await review(service, 'right=flag.update&namespaceKey=shop&limit=5')
  const wrong = await review(service, `right=flag.read&namespaceKey=shop&limit=5&pageToken=${json.nextPageToken}`)
  t.equal(refusalOf(wrong).reason, 'invalid_page_token')
})

await t.test('an access review of a past moment lists the tokens of that moment', async (t) => {
  const service = await startService(t)
  const first = await made(service, { name: 'first', role: 'editor' })
  const second = await made(service, { name: 'second', role: 'editor' })
  await service.request('DELETE', `/auth/v1/tokens/${first.id}`)
  await service.request('PUT', '/auth/v1/self/expire', {}, bearer(second.token))
  const at = async (moment: string) => names((await review(service, `right=flag.update&at=${moment}`)).json).slice(1)
  t.strictSame(await at(first.position), ['first'])
  t.strictSame(await at(second.position), ['first', 'second'])
  t.strictSame(await at(''), [])
  const { json, headers } = await review(service, `right=flag.update&at=${first.position}`)
  t.equal(headers['as-of-position'], first.position)
  t.match(headers['as-of-time'], /Z$/)
  t.match(json, {
    position: first.position,
    anonymous: false,
  })
  t.equal(refusalOf(await review(service, 'right=flag.update&at=99999999999')).reason, 'invalid_at')
})

await t.test('an access review as CSV has the same rows, and no cell is a formula', async (t) => {
  const service = await startService(t)
  const { id } = await made(service, { name: '=1+1,"x"', role: 'editor' })
  const json = await review(service, 'right=flag.update&limit=1', { accept: 'application/json, text/csv' })
  t.equal(json.headers['content-type'], 'application/json')
  const answer = await review(service, 'right=flag.update&limit=1', { accept: 'text/csv' })
  t.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
  t.match(
    answer.text,
    /^authenticationId,method,name,reason,namespaceKey,role,rule,issuedBy\r\n[^\r]*,full_reach,,,,\r\n$/,
  )
  const pageToken = String(answer.headers['next-page-token'])
  const next = await review(service, `right=flag.update&limit=1&pageToken=${pageToken}`, { accept: 'text/csv' })
  t.equal(
    next.text.split('\r\n')[1],
    `${id},METHOD_TOKEN,"'=1+1,""x""",granted,*,editor,,${json.json.entries[0]!.authenticationId}`,
  )
  t.equal(next.headers['next-page-token'], '')
})

await t.test('format=csv downloads all pages of an access review, with the maker of each token', async (t) => {
  const service = await startService(t)
  const maker = await made(service, { name: 'maker' })
  for (let n = 0; n < 3; n++)
    await service.request('POST', '/auth/v1/method/token', { name: `n${n}` }, bearer(maker.token))
  const { json } = await review(service, 'right=flag.read')
  t.strictSame(json.entries.map(({ issuedBy }) => issuedBy).slice(2), Array(3).fill(maker.id))
  const whole = await review(service, `right=flag.read&format=csv&limit=1&at=${json.position}`)
  t.equal(whole.headers['content-disposition'], `attachment; filename="rollcall-access-${json.position}.csv"`)
  t.equal(whole.headers['next-page-token'], '')
  t.equal(whole.text.trim().split('\r\n').length, 1 + json.totalCount)
  t.ok(whole.text.endsWith(`,n2,full_reach,,,,${maker.id}\r\n`))
  const page = await review(service, 'right=flag.read&format=json', { accept: 'text/csv' })
  t.equal(page.headers['content-type'], 'application/json', 'the parameter decides')
  t.match(refusalOf(await review(service, 'right=flag.read&format=xml')), {
    status: 400,
    message: /unknown value "xml"/,
  })
})

await t.test('an access review shows whether access without a credential was open', async (t) => {
  const service = await startService(t, { 'authentication.required': 'false' })
  t.match((await review(service, 'right=flag.delete', open)).json, { anonymous: true })
  const at = (await service.request('GET', '/auth/v1/access/check?right=flag.read&at=1', undefined, open)).json
  t.match(at, { allowed: true, reason: 'open' }, 'before the first event, as in the first event')
  const partly = await startService(t, { 'authentication.exclude.evaluation': 'true' })
  for (const [right, anonymous] of [
    ['flag.evaluate', true],
    ['flag.snapshot', true],
    ['flag.read', false],
  ] as const) {
    const now = (await review(partly, `right=${right}`)).json
    t.equal(now.anonymous, anonymous, right)
    t.equal((await review(partly, `right=${right}&at=${now.position}`)).json.anonymous, anonymous, `${right} then`)
  }
})

await t.test('an access review requires the right to read all history', async (t) => {
  const service = await withNamespaces(await startService(t))
  const auditor = await made(service, { name: 'a', role: 'auditor' })
  t.equal((await review(service, 'right=flag.read', bearer(auditor.token))).status, 200)
  for (const body of [{ role: 'editor' }, grants('admin@shop'), grants('auditor@shop')]) {
    const { token } = await made(service, { name: 'x', ...body })
    t.match(refusalOf(await review(service, 'right=flag.read&namespaceKey=shop', bearer(token))), {
      status: 403,
      message: 'permission denied: needs audit.read in every namespace',
    })
  }
})
