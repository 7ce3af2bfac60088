import t from 'tap'
import type { AuthenticationList } from '../../src/contract/token.ts'
import { startService } from '../start.ts'
import { CODEHOST, EXCHANGE, everyWay, logIn, OIDC, open, refusalOf } from './people.ts'

const NAMES = {
  'authentication.methods.oidc.providers.main.display_name': 'Ädams & Co',
  'authentication.methods.codehost.display_name': 'The forge',
}

await t.test('tokens are sorted both ways, and static tokens can be listed without sessions', async (t) => {
  const { service, cluster } = await everyWay(t, NAMES)
  const { request } = service
  for (const name of ['one', 'two', 'three']) await request('POST', '/auth/v1/method/token', { name })
  await logIn(service, OIDC)
  await logIn(service, CODEHOST)
  await request('POST', EXCHANGE, { serviceAccountToken: await cluster.token() }, open)
  const last = await request('POST', '/auth/v1/method/token', { name: 'last' })
  const at = String(last.headers['event-position'])
  const pages = async (query: string) => {
    const ids: string[] = []
    for (let token = ''; ; ) {
      const { json } = await request<AuthenticationList>('GET', `/auth/v1/tokens?limit=2&pageToken=${token}&${query}`)
      ids.push(...json.authentications.map(({ id }) => id))
      if ((token = json.nextPageToken) === '') return { ids, total: json.totalCount }
    }
  }
  const whole = (await request<AuthenticationList>('GET', '/auth/v1/tokens?limit=100')).json.authentications
  const ofKind = (kind: string) =>
    whole.filter(({ method }) => kind === '' || (method === 'METHOD_TOKEN') === (kind === 'static')).map(({ id }) => id)
  t.equal(ofKind('static').length, 5)
  t.equal(ofKind('session').length, 3)
  const held = async (moment: string) => {
    for (const kind of ['', 'static', 'session']) {
      const expected = ofKind(kind)
      t.same(await pages(`kind=${kind}${moment}`), { ids: expected, total: expected.length }, `${kind}${moment}`)
      t.same(
        await pages(`order=desc&kind=${kind}${moment}`),
        { ids: expected.toReversed(), total: expected.length },
        `${kind}${moment}, newest first`,
      )
    }
    t.same(await pages(`kind=static&method=METHOD_OIDC${moment}`), { ids: [], total: 0 }, 'no method is of both')
    t.equal((await pages(`kind=session&method=METHOD_OIDC${moment}`)).total, 1)
  }
  await held('')
  await request('POST', '/auth/v1/method/token', { name: 'later' })
  await held(`&at=${at}`)

  const { json } = await request<AuthenticationList>('GET', '/auth/v1/tokens?limit=1&order=desc')
  for (const query of ['', '&order=desc&kind=static'])
    t.equal(
      refusalOf(await request('GET', `/auth/v1/tokens?pageToken=${json.nextPageToken}${query}`)).reason,
      'invalid_page_token',
    )
  for (const query of ['order=newest', 'kind=oidc'])
    t.equal(refusalOf(await request('GET', `/auth/v1/tokens?${query}`)).status, 400)

  const methods = (await request<{ methods: { metadata?: object }[] }>('GET', '/auth/v1/method', undefined, open)).json
  t.match(methods.methods[1]!.metadata, { name: 'The forge' })
  t.match(methods.methods[2]!.metadata, { providers: { main: { name: 'Ädams & Co' } }, order: ['main'] })
})

await t.test('providers are listed in the order of the configuration', async (t) => {
  const client = '{"issuer_url":"http://127.0.0.1:1","client_id":"me","client_secret":"s"}'
  const names = ['zeta', '10', 'alpha', '2']
  const { request } = await startService(t, {
    'server.public_url': 'http://127.0.0.1',
    'authentication.methods.oidc.enabled': 'true',
    'authentication.methods.oidc.providers': `{${names.map((name) => `"${name}":${client}`).join(',')}}`,
  })
  const { methods } = (await request<{ methods: { metadata?: object }[] }>('GET', '/auth/v1/method', undefined, open))
    .json
  t.match(methods[2]!.metadata, { order: names })
})

await t.test('a display name that is too long or has two lines is refused', async (t) => {
  for (const name of ['x'.repeat(65), 'a\nb'])
    await t.rejects(startService(t, { 'authentication.methods.codehost.display_name': name }), /display_name/)
})
