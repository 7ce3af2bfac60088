import { get } from 'node:http'
import t, { type Test } from 'tap'
import type { HistoryEvent, HistoryEvents } from '../../src/contract/history/events.ts'
import { type Fields, type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { bearer, everyWay, type Issued, logIn, OIDC, open, refusalOf } from './people.ts'
import { damageKeys, destroyKeys, erasePeople, loseKeys } from './subjects.ts'

const EVENTS = '/audit/v1/events'
const [MAIL, AGENT] = ['canary.person@people.example', 'canary-agent/9']
const CANARY = /canary\.person|canary-agent/

const read = ({ request }: Started, search: string, headers: Headers = {}) =>
  request<HistoryEvents>('GET', `${EVENTS}?${search}`, undefined, headers)
const page = async (service: Started, search: string) => (await read(service, search)).json.events
const linesOf = async (service: Started, search: string) =>
  (await read(service, `format=ndjson&${search}`)).text.split('\n').slice(0, -1)
const auditorOf = async ({ request }: Started, body: Fields) =>
  bearer((await request<Issued>('POST', '/auth/v1/method/token', { name: 'a', ...body })).json.clientToken)

/** A person who logged in, with personal data in profile and envelope. */
const withPerson = async (t: Test) => {
  const { liar, service } = await everyWay(t)
  liar.lies = { claims: { email: MAIL, email_verified: true } }
  const headers = { accept: 'application/json', 'user-agent': AGENT }
  const { authentication } = await logIn(service, OIDC, headers)
  return { service, tokenId: authentication.id }
}

/** The members of an event that no checkpoint and no read model changes, without opened personal data. */
const lasting = ({ personal: _personal, sealed: _sealed, actor, ...event }: HistoryEvent) => ({
  ...event,
  actor: { ...actor, name: undefined },
})

/** Waits for the ledger, which CloudEvents and OCSF name. */
const ledgerBegun = ({ request }: Started) =>
  eventually(
    async () => (await request<{ ledger?: string }>('GET', '/audit/v1/ledger')).json.ledger !== undefined,
    'the ledger has begun',
  )

/** First events of a live stream. */
const followed = ({ url, token }: Started, search: string, count: number) =>
  new Promise<readonly HistoryEvent[]>((resolve, reject) => {
    let text = ''
    const headers = { authorization: `Bearer ${token}` }
    const request = get(`${url}${EVENTS}?format=sse&${search}`, { agent: false, headers }, (response) => {
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        const found = [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, json]) => JSON.parse(json!) as HistoryEvent)
        if (found.length < count) return
        request.destroy()
        resolve(found)
      })
    })
    request.on('error', (error) => (text === '' ? reject(error) : undefined))
  })

await t.test('personal=open shows the personal data of events in addition to the sealed texts', async (t) => {
  const { service, tokenId } = await withPerson(t)
  const sealed = await page(service, 'limit=1000')
  const opened = await page(service, 'limit=1000&personal=open')
  t.strictSame(opened.slice(0, sealed.length).map(lasting), sealed.map(lasting), 'everything else is unchanged')
  const issued = opened.find(({ type, stream }) => type === 'TokenIssued' && stream === `token-${tokenId}`)!
  const ip = { status: 'open', value: '127.0.0.1' }
  const profile = { status: 'open', value: { 'oidc.email': MAIL } }
  t.match(issued.personal, { '/data/profile': profile, '/meta/ip': ip })
  t.strictSame(issued.personal!['/meta/userAgent'], { status: 'open', value: AGENT })
  t.match(issued.data, { profile: /^sealed\.1\./ })
  for (const { data, meta, personal } of opened)
    t.strictSame(
      Object.keys(personal!).sort(),
      Object.entries({ data, meta })
        .flatMap(([part, members]) =>
          Object.entries(members as Fields).flatMap(([name, value]) =>
            String(value).startsWith('sealed.1.') ? [`/${part}/${name}`] : [],
          ),
        )
        .sort(),
      'one member for each sealed field',
    )

  const one = await service.request<HistoryEvent>('GET', `${EVENTS}/${issued.position}?personal=open`)
  t.strictSame(one.json.personal, issued.personal)
  t.strictSame(lasting(one.json), lasting(issued))
  const before = `beforeIndex=${sealed.length}`
  const [plain, lines] = [await linesOf(service, before), await linesOf(service, `${before}&personal=open`)]
  t.strictSame(
    lines,
    plain.map((line, n) => `${line.slice(0, -1)},"personal":${JSON.stringify(opened[n]!.personal)}}`),
  )
  const live = await followed(service, 'personal=open&afterIndex=-1', 3)
  t.strictSame(
    live.map(({ personal }) => personal),
    opened.slice(0, live.length).map(({ personal }) => personal),
  )
})

type Ocsf = { readonly metadata: { readonly sequence: number; readonly log_name: string } } & Fields

await t.test('format=ocsf exports events in OCSF, with address and e-mail address only if opened', async (t) => {
  const { service, tokenId } = await withPerson(t)
  await ledgerBegun(service)
  const { origin } = (await service.request<{ origin: string }>('GET', '/audit/v1/ledger')).json
  const ocsf = async (search: string) => {
    const { status, headers, text } = await read(service, `format=ocsf&${search}`)
    t.equal(status, 200)
    t.equal(headers['content-type'], 'application/x-ndjson')
    const lines = text.split('\n').slice(0, -1)
    return { headers, events: lines.map((line) => JSON.parse(line) as Ocsf) }
  }
  const own = `stream=token-${tokenId}`
  const { headers, events } = await ocsf(own)
  t.match(headers['content-disposition'], /^attachment; filename="rollcall-events-\d+-\d+\.ocsf\.ndjson"$/)
  t.match(events, [{ class_uid: 3002, metadata: { log_name: origin, version: '1.8.0' } }])
  t.notMatch(JSON.stringify(events), /src_endpoint|email_addr/)
  const opened = await ocsf(`${own}&personal=open`)
  t.match(opened.events, [{ src_endpoint: { ip: '127.0.0.1' }, user: { email_addr: MAIL } }])
  const [{ data }] = (await page(service, 'type=HistoryExported&order=desc&limit=1')) as [HistoryEvent]
  t.match(data, { format: 'ocsf', personal: true })

  const before = `beforeIndex=${(await page(service, 'limit=1000')).length}`
  const all = (await page(service, `limit=1000&${before}`)).filter(
    ({ type }) =>
      !/^Flag(?:Unr|R)egistered|^Login(?:Started|Returned|Completed|sBegun)|^Instance(?:sCalled|Answered)/.test(type),
  )
  const whole = await ocsf(before)
  t.strictSame(
    whole.events.map(({ metadata }) => metadata.sequence),
    all.map(({ index }) => index),
  )
  t.equal((await ocsf(`${before}&limit=2&type=LoginReturned,TokenIssued`)).events.length, 2, 'the limit counts lines')
  t.equal((await read(service, 'format=ocsf&order=desc')).status, 400)
})

await t.test('without personal=open no answer, log line or metric has personal data', async (t) => {
  const { service, tokenId } = await withPerson(t)
  const { position } = (await page(service, `tokenId=${tokenId}`))[0]!
  await ledgerBegun(service)
  const searches = ['json', 'ndjson', 'csv', 'cloudevents', 'ocsf'].map((format) => `?format=${format}&limit=1000`)
  for (const personal of ['', '&personal=sealed'])
    for (const search of [...searches.map((one) => one + personal), `/${position}?pretty${personal}`]) {
      const { status, text } = await service.request('GET', `${EVENTS}${search}`)
      t.equal(status, 200, search)
      t.notMatch(text, CANARY, search)
    }
  t.notMatch(JSON.stringify(await followed(service, 'afterIndex=-1', 3)), CANARY)
  t.match((await read(service, 'personal=open&limit=1000')).text, CANARY)
  t.match((await linesOf(service, 'personal=open')).join(), CANARY)
  for (const head of [`${EVENTS}?personal=open`, `${EVENTS}/${position}?personal=open`]) {
    const [sealed, answer] = [await service.request('HEAD', head.split('?')[0]!), await service.request('HEAD', head)]
    t.equal(answer.status, 200)
    t.equal(answer.headers['content-length'], sealed.headers['content-length'], 'HEAD opens nothing')
  }
  t.notMatch((await read(service, 'limit=1000')).text, CANARY, 'no record of a reading has them')
  t.notMatch(await service.metrics(), CANARY)
  await service.close()
  t.notMatch(await service.logged(), CANARY)
})

await t.test('personal=open needs a credential with audit.read', async (t) => {
  const service = await startService(t, { 'authentication.required': 'false' })
  const viewer = await auditorOf(service, { grants: [{ role: 'viewer', namespaceKey: 'default' }] })
  const bound = await auditorOf(service, { namespaceKey: 'default' })
  const auditor = await auditorOf(service, { role: 'auditor' })
  const rows: readonly (readonly [Headers, number, string])[] = [
    [open, 401, 'credential_missing'],
    [bearer('wrong'), 401, 'credential_invalid'],
    [viewer, 403, 'right_missing'],
    [bound, 403, 'token_scoped'],
  ]
  const { position } = (await page(service, 'limit=1'))[0]!
  for (const path of [`${EVENTS}?namespaceKey=default&`, `${EVENTS}?format=ndjson&`, `${EVENTS}/${position}?`]) {
    t.equal((await service.request('GET', path, undefined, open)).status, 200, 'the history is open')
    for (const [headers, status, reason] of rows)
      t.match(
        refusalOf(await service.request('GET', `${path}personal=open`, undefined, headers)),
        { status, reason },
        path,
      )
    t.equal((await service.request('GET', `${path}personal=open`, undefined, auditor)).status, 200)
  }
  t.equal((await read(service, 'namespaceKey=default', viewer)).status, 200)
  for (const format of ['csv', 'cloudevents']) {
    const answer = await read(service, `personal=open&format=${format}`, auditor)
    t.match(refusalOf(answer), { status: 400, message: `invalid field personal: must be sealed in ${format}` })
  }
  t.equal((await read(service, 'personal=open', { ...auditor, accept: 'text/csv' })).status, 400)
  t.equal((await read(service, 'personal=open&personal=open', auditor)).status, 400)
})

await t.test('every answer with personal=open is recorded before it begins', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  const recorded = async () => (await page(service, 'type=HistoryExported')).map(({ data }) => data as Fields)
  await page(service, 'type=TokenIssued&limit=5&personal=open')
  t.match(await recorded(), [{ format: 'json', filter: { type: 'TokenIssued' }, fromIndex: 0, personal: true }])
  const { nextPageToken } = (await read(service, 'limit=1&personal=open')).json
  await read(service, `limit=1&personal=open&pageToken=${nextPageToken}`)
  t.match((await recorded()).slice(1), [{ filter: {}, personal: true }], 'the pages of one filter have one record')
  const positions = (await page(service, 'limit=4')).map(({ position }) => position)
  for (const n of [1, 2]) await service.request('GET', `${EVENTS}/${positions[n]}?personal=open`)
  await linesOf(service, 'limit=1&personal=open')
  await followed(service, 'afterIndex=-1&personal=open', 1)
  t.match((await recorded()).slice(2), [
    { format: 'json', filter: { position: positions[1] }, fromIndex: 1, toIndex: 2, personal: true },
    { format: 'json', filter: { position: positions[2] }, fromIndex: 2, toIndex: 3, personal: true },
    { format: 'ndjson', filter: {}, fromIndex: 0, personal: true },
    { format: 'sse', filter: { afterIndex: '-1' }, fromIndex: 0, personal: true },
  ])
  const { length } = await recorded()
  await service.request('HEAD', `${EVENTS}/${positions[3]}?personal=open`)
  await page(service, 'type=TokenIssued&personal=open')
  t.equal((await recorded()).length, length, 'neither HEAD nor an equal request in the same minute has a record')
  await clock.advance(65_000)
  const counts = await eventually(async () => (await page(service, 'type=HistoryRead'))[0], 'the counts')
  t.match(counts.data, { opened: 2 }, 'the second page and the equal request')
})

await t.test('personal data are erased by an erasure in the log, and lost if their key is gone else', async (t) => {
  const { service, tokenId } = await withPerson(t)
  const statusOf = async () => {
    const [event] = await page(service, `stream=token-${tokenId}&personal=open`)
    return event!.personal!['/data/profile']
  }
  t.match(await statusOf(), { status: 'open' })
  const sealed = await linesOf(service, `tokenId=${tokenId}`)
  for (const change of [damageKeys, destroyKeys, loseKeys]) {
    await service.reopen(() => change(service))
    t.strictSame(await statusOf(), { status: 'lost' })
  }
  await logIn(service, OIDC)
  t.strictSame(await statusOf(), { status: 'lost' }, 'the new key of the person does not open the text')
  await erasePeople(service)
  t.strictSame(await statusOf(), { status: 'erased' })
  await service.reopen(() => loseKeys(service))
  t.strictSame(await statusOf(), { status: 'erased' }, 'also without the tombstone')
  t.strictSame((await linesOf(service, `tokenId=${tokenId}`)).slice(0, sealed.length), sealed, 'the same sealed texts')
})
