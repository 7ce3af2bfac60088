import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { whyOf } from '../../src/base/errors.ts'
import { fails, login, together } from './at-provider.ts'
import type { Lies } from './stand-ins/liar.ts'
import { type Answer, deadUrl, json, listen, silence, unusable } from './stand-ins/listen.ts'

const DOCUMENT = '/.well-known/openid-configuration'
const ENDPOINTS = ['token_endpoint', 'jwks_uri'] as const

/** A provider, the client under test, and the number of reads of the document. */
const begin = async (t: Test) => {
  const { clock, liar, provider } = await together(t)
  const reads = () => liar.asked.filter((path) => path === DOCUMENT).length
  const enter = async () => provider.finish(await login(provider))
  return { clock, liar, provider, reads, enter }
}

/** Address of a server with an untrusted certificate. */
const impostor = async (t: Test): Promise<string> => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'another' }], { keyType: 'ec' })
  return listen(t, (_, response) => void response.end('{}'), { key, cert })
}

const gone: Readonly<Record<string, Answer>> = { ...unusable, '410': json(410, {}), '405': json(405, {}) }

for (const endpoint of ENDPOINTS)
  await t.test(`a login succeeds after the provider moved its ${endpoint}`, async (t) => {
    const { clock, liar, provider, reads } = await begin(t)
    const move = async (t: Test, from: string, lies: Lies = {}) => {
      // After an hour the client reads the document again.
      await clock.advance(3_600_001)
      liar.lies = { document: { [endpoint]: from }, ...lies }
      const answer = await login(provider)
      const before = reads()
      liar.lies = lies.gone ? { gone: lies.gone } : {}
      t.equal((await provider.finish(answer)).subject.sub, 'alice')
      t.equal(reads(), before + 1)
      liar.lies = {}
      t.equal((await provider.finish(await login(provider))).subject.sub, 'alice')
      t.equal(reads(), before + 1, 'and it knows from then on')
    }
    for (const [name, answer] of Object.entries(gone))
      await t.test(name, (t) => move(t, `${liar.url}/gone`, { gone: answer }))
    await t.test('the provider rejects connections at its old address', async (t) => move(t, await deadUrl()))
    await t.test('a login succeeds if a foreign server listens at the old address of the provider', async (t) =>
      move(t, await impostor(t)),
    )
  })

await t.test('the discovery document of a failing provider is read again at most once a minute', async (t) => {
  const { clock, liar, reads, enter } = await begin(t)
  liar.lies = { token: json(404, {}) }
  for (let n = 0; n < 5; n++) await fails(t, enter, 'provider_mismatch')
  t.equal(reads(), 2)
  await clock.advance(59_999)
  await fails(t, enter, 'provider_mismatch')
  t.equal(reads(), 2)
  await clock.advance(1)
  await fails(t, enter, 'provider_mismatch')
  t.equal(reads(), 3)
  liar.lies = {}
  await enter()
  t.equal(reads(), 3, 'who gets in asks for nothing')
})

await t.test('if the discovery document is unavailable too, the error names both causes', async (t) => {
  const { clock, liar, provider, reads } = await begin(t)
  const answer = await login(provider)
  liar.lies = { token: json(404, {}), document: json(503, {}) }
  const why = whyOf(await fails(t, () => provider.finish(answer), 'provider_mismatch')) ?? ''
  t.match(
    why,
    /token endpoint at 127\S* answered with status 404; read again: discovery at 127\S* answered with status 503/,
  )
  for (let n = 0; n < 5; n++) await fails(t, () => provider.finish(answer), 'provider_mismatch')
  t.equal(reads(), 2)
  liar.lies = {}
  t.equal((await provider.finish(answer)).subject.sub, 'alice', 'what is known of it is kept')
  liar.lies = { token: json(404, {}) }
  await clock.advance(60_000)
  await fails(t, () => provider.finish(answer), 'provider_mismatch')
  t.equal(reads(), 3)
})

await t.test('the discovery document is read again after the endpoint timed out', async (t) => {
  const { clock, liar, provider } = await begin(t)
  liar.lies = { document: { token_endpoint: `${liar.url}/gone` }, gone: silence }
  const answer = await login(provider)
  liar.lies = { gone: silence }
  const finished = provider.finish(answer)
  while (!liar.asked.includes('/gone')) await clock.settle()
  await clock.advance(5_000)
  t.equal((await finished).subject.sub, 'alice')
})

await t.test("after an unknown signing key the keys are read at the provider's present jwks_uri", async (t) => {
  const { liar, reads, enter } = await begin(t)
  const before = (await (await fetch(`${liar.url}/keys`)).json()) as object
  liar.lies = { document: { jwks_uri: `${liar.url}/gone` }, gone: json(200, before) }
  await enter()
  await liar.rotate()
  liar.lies = { gone: json(200, before) }
  t.equal((await enter()).subject.sub, 'alice', 'the former address still answers, with the former keys')
  t.equal(reads(), 2)
})

await t.test('a login with a new key succeeds although the old keys were just read', async (t) => {
  const { clock, liar, enter } = await begin(t)
  const before = (await (await fetch(`${liar.url}/keys`)).json()) as object
  liar.lies = { document: { jwks_uri: `${liar.url}/gone` }, gone: json(200, before) }
  await enter()
  await clock.advance(300_001)
  await liar.rotate()
  liar.lies = { gone: json(200, before) }
  t.equal((await enter()).subject.sub, 'alice')
})

await t.test('a new signing algorithm of the provider is accepted from the next login on', async (t) => {
  const { clock, liar, reads, enter } = await begin(t)
  await enter()
  await liar.rotate('RS512')
  liar.lies = { document: { id_token_signing_alg_values_supported: ['RS512'] } }
  await fails(t, enter, 'id_token_invalid')
  t.equal((await enter()).subject.sub, 'alice')
  t.equal(reads(), 2)
  liar.lies = { ...liar.lies, claims: { aud: 'another' } }
  for (let n = 0; n < 5; n++) await fails(t, enter, 'id_token_invalid')
  t.equal(reads(), 2)
  await clock.advance(60_000)
  await fails(t, enter, 'id_token_invalid')
  t.equal(reads(), 3)
})

await t.test('the discovery document is not read again after the provider refused a code', async (t) => {
  const { liar, reads, enter } = await begin(t)
  liar.lies = { token: json(400, { error: 'invalid_grant' }) }
  await fails(t, enter, 'code_refused')
  t.equal(reads(), 1)
})
