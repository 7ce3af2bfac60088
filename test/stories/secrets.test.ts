import { join } from 'node:path'
import t from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { loginStates } from '../../src/auth/sealed.ts'
import { METHODS } from '../../src/events/token.ts'
import { codehostClient } from '../auth/stand-ins/codehost.ts'
import { lyingClient } from '../auth/stand-ins/liar.ts'
import { json, unusable } from '../auth/stand-ins/listen.ts'
import { onCluster } from '../cluster/own.ts'
import {
  bearer,
  begin,
  CODEHOST,
  comeBack,
  cookiesOf,
  EXCHANGE,
  everyWay,
  type Issued,
  OIDC,
  open,
  visit,
} from '../http/people.ts'
import { everythingKept, formsOf } from './kept.ts'

await t.test('no file, log line or answer contains a secret or personal data in plain text', async (t) => {
  const { service, liar, host, cluster } = await everyWay(t, { 'log.level': 'DEBUG', 'server.trust_proxy': 'true' })
  const { request, directory } = service
  const { pepper } = await openKeyFile(join(directory, 'data', 'keys'))
  const states = loginStates(pepper.key)
  const secrets = new Set<string>([
    lyingClient.clientSecret,
    codehostClient.clientSecret,
    cluster.bearer,
    service.token,
    'canary',
  ])
  const personal = ['alice.canary@example.com', 'Alice Canary', 'canary-picture', 'canary-agent', '203.0.113.77']
  const errors: string[] = []
  const secret = (text: string | null | undefined): string => {
    if (text) secrets.add(text)
    return text ?? ''
  }
  const from = { 'user-agent': 'canary-agent', 'x-forwarded-for': '203.0.113.77' }
  liar.lies = {
    claims: { email: 'alice.canary@example.com', name: 'Alice Canary', picture: 'https://x.example/canary-picture' },
  }
  host.user = { ...host.user, email: 'alice.canary@example.com', name: 'Alice Canary' }

  /** Performs a login whose callback query can be changed. */
  const login = async (path: string, change: (query: URLSearchParams) => void = () => {}) => {
    const { authorizeUrl, cookie } = await begin(service, path, '', from)
    const sealed = secret(cookie.split('=')[1])
    const { state, nonce, codeVerifier } = states.open(sealed)!
    for (const each of [state, nonce, codeVerifier]) secret(each)
    const query = await visit(authorizeUrl)
    secret(query.get('code'))
    change(query)
    for (const accept of ['application/json', 'text/html']) {
      const answer = await comeBack(service, path, query, { cookie, accept, ...from })
      secret(cookiesOf(answer)['service_client_token']?.value)
      if (answer.status !== 200) errors.push(answer.text, answer.headers.location ?? '')
    }
  }
  const exchange = async (token: string) => {
    secret(token)
    for (const part of token.split('.')) secret(part.length > 8 ? part : undefined)
    const answer = await request<Issued>('POST', EXCHANGE, { service_account_token: token }, { ...open, ...from })
    secret(answer.json.clientToken)
    if (answer.status !== 200) errors.push(answer.text)
  }

  for (const path of [OIDC, CODEHOST]) {
    await login(path)
    await login(path, (query) => query.set('code', 'canary-wrong-code'))
    await login(path, (query) => query.set('error', 'canary<b>'))
    await login(path, (query) => query.append('code', 'canary-second-code'))
    await login(path, (query) => query.set('state', 'canary-other-state'))
  }
  const lies = liar.lies
  for (const token of [
    unusable['HTML']!,
    json(400, { error: 'invalid_grant', error_description: 'canary-7 of canary.example' }),
    json(401, { error: 'invalid_client' }),
  ]) {
    liar.lies = { token }
    await login(OIDC)
  }
  liar.lies = { claims: { aud: 'canary-audience' } }
  await login(OIDC)
  liar.lies = { sign: () => 'canary.id.token' }
  await login(OIDC)
  liar.lies = lies
  host.lies['/api/user'] = json(500, { message: 'canary' })
  await login(CODEHOST)

  await exchange(await cluster.token())
  await exchange(await cluster.token({ key: (await cluster.newKey()).privateKey }))
  await exchange('canary.service.account')
  cluster.lies['/apis/authentication.k8s.io/v1/tokenreviews'] = json(422, { message: 'canary' })
  await exchange(await cluster.token())

  for (const body of [{ name: 'the-name-of-a-token' }, { name: 'n', expiresAt: 'canary' }]) {
    const made = await request<Issued>('POST', '/auth/v1/method/token', body, from)
    secret(made.json.clientToken)
    if (made.json.clientToken) await request('POST', '/auth/v1/self/session', undefined, bearer(made.json.clientToken))
  }
  for (const headers of [
    bearer('canary-bearer'),
    { ...open, cookie: 'service_client_token=canary-cookie' },
    { authorization: 'Basic canary' },
  ]) {
    const answer = await request('GET', '/auth/v1/tokens?token=canary-in-the-query', undefined, { ...headers, ...from })
    errors.push(answer.text)
  }
  errors.push((await request('GET', '/auth/v1/canary-path?code=canary-code', undefined, from)).text)
  errors.push((await request('GET', '/meta/config')).text)
  const metrics = (await request('GET', '/metrics')).text
  // An error may repeat the value of a field to its sender.
  const said = errors.filter((text) => !text.includes('RFC 3339'))
  await service.close()

  const files = new Map((await everythingKept(directory)).map(([place, bytes], n) => [`${place} (${n})`, bytes]))
  const places = [...files.keys()]
  const log = places.find((place) => place.startsWith('log '))
  const stores = onCluster
    ? ['events', 'mongodb tokens', 'mongodb subjects', 'redis']
    : ['data/events.sqlite', 'data/views.sqlite']
  for (const store of stores)
    t.ok(
      places.some((place) => place.startsWith(store)),
      `${store} was looked through`,
    )
  t.ok(files.get(log!)!.length > 1000, 'the log has something to say')
  t.ok(said.length > 30, 'many things were refused')
  t.ok(secrets.size > 60, 'there was much to hide')
  t.ok(
    [...files.values()].some((bytes) => bytes.includes('LoginRefused')),
    'what is kept is read as it is',
  )
  files.set('metrics', Buffer.from(metrics))
  files.set('answers', Buffer.from(said.join('\n')))
  const standsIn = (text: string) =>
    formsOf(text).some((form) => [...files.values()].some((bytes) => bytes.includes(form)))
  t.ok(standsIn('the-name-of-a-token'), 'what is kept in clear would be found')
  const isOfHistory = (place: string) => /^(events|data\/events\.sqlite)/.test(place)
  const history = Buffer.concat([...files].flatMap(([place, bytes]) => (isOfHistory(place) ? [bytes] : [])))
  const recorded = [
    ...history.toString('latin1').matchAll(/"fingerprint":"(\w{8}\.2\.[\w-]{43})"[^\n]*?"method":"(\w+)"/g),
  ]
  t.strictSame(new Set(recorded.map(([, , method]) => method)), new Set(METHODS), 'tokens of every method have one')
  const hasFingerprints = (place: string) => isOfHistory(place) || /^(mongodb tokens|data\/views\.sqlite)/.test(place)
  for (const [, fingerprint] of recorded)
    for (const [place, bytes] of files)
      if (!hasFingerprints(place) && bytes.includes(fingerprint!)) t.fail(`a fingerprint stands in ${place}`)
  for (const prefix of ['', 'x', 'xy']) {
    files.set('planted', Buffer.from(Buffer.from(`${prefix}planted-text${prefix}`).toString('base64')))
    t.ok(standsIn('planted-text'), 'and in base64, wherever it begins')
  }
  files.delete('planted')
  for (const text of secrets) {
    for (const form of formsOf(text)) {
      for (const [name, bytes] of files) if (bytes.includes(form)) t.fail(`${text.slice(0, 20)}… stands in ${name}`)
    }
  }
  for (const text of personal) {
    for (const form of formsOf(text)) {
      for (const [name, bytes] of files)
        if (name !== 'answers' && bytes.includes(form)) t.fail(`${text} stands in ${name}`)
    }
  }
})
