import { randomUUID } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { addressOf } from '../../src/adapters/eventstoredb/address.ts'
import { collect, happened } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { following, open } from './eventstoredb-nodes.ts'

const query = (url: string) => new URLSearchParams(url.slice(url.indexOf('?')))
const last = (url: string, key: string) => query(url).getAll(key).at(-1)

void t.test('an address with several hosts, credentials and a preferred kind of node is parsed', async (t) => {
  for (const scheme of ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover']) {
    const { leader, follower } = addressOf(`${scheme}://a:2113,b,c:2115?tls=false&nodePreference=readOnlyReplica`)
    for (const url of [leader, follower])
      t.match(url, /^esdb:\/\/a:2113,b,c:2115\?/, 'discovery would know the first host only')
    t.equal(last(leader, 'nodePreference'), 'leader')
    t.equal(last(follower, 'nodePreference'), 'readOnlyReplica')
  }
  for (const word of ['esdb', 'kurrentdb']) {
    const { leader } = addressOf(`${word}+discover://cluster.example/?tls=false`)
    t.match(leader, /^esdb\+discover:\/\/cluster\.example\?/)
  }
  t.equal(last(addressOf('esdb://a?tls=false').follower, 'nodePreference'), 'follower')
  t.equal(last(addressOf('esdb://a?tls=false&throwOnAppendFailure=false').leader, 'throwOnAppendFailure'), 'true')
  t.equal(last(addressOf('esdb://a?tls=false&gossipTimeout=3').leader, 'gossipTimeout'), '3')
  const { leader, credentials } = addressOf('esdb://us%40er:p:a@ss%2F?@host?tls=true'.replace('?@', '%3F@'))
  t.same(credentials, { username: 'us@er', password: 'p:a@ss/?' })
  t.match(leader, /^esdb:\/\/us%40er:p%3Aa%40ss%2F%3F@host\?/, 'the driver would cut a password at its colon')
})

void t.test('an invalid address of EventStoreDB is refused, and the message does not repeat it', async (t) => {
  const wrong: Readonly<Record<string, RegExp>> = {
    'http://host': /is invalid/,
    'esdb://': /is invalid/,
    'esdb://admin:hunter2': /is invalid/,
    'esdb://[::1]:2113?tls=false': /is invalid/,
    'esdb://a,,b?tls=false': /is invalid/,
    'esdb://host:2113': /has no user/,
    'esdb://:hunter2@host': /a password but no user/,
    'esdb://admin@host': /a user but no password/,
    'kurrent://admin:hunter2@host': /is invalid/,
    'esdb://host?tls=False': /has no user/,
    'esdb://admin:hunter2%@host': /write % as %25/,
    'esdb://admin:hunter2@host?tlsCaPath=/x': /an unknown option: tlscapath/,
    'esdb://admin:hunter2@host?tls=false&hunter2@=1': /an unknown option$/,
    'esdb://admin:hunter2@host?tlsVerifyCert=false': /must not disable certificate verification/,
  }
  for (const [url, message] of Object.entries(wrong)) {
    t.throws(() => addressOf(url), { message }, url)
    t.throws(() => addressOf(url), { message: /^(?!.*hunter2)/ })
  }
})

/** A server with TLS, its own certificate and one user. */
const secured = async (t: Test, user = 'admin:p%3Aw') => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  const authority = join(directory, 'ca.pem')
  await writeFile(authority, cert)
  const server = await startEventStore({ secured: { key, cert, user: decodeURIComponent(user) } })
  t.teardown(async () => {
    server.kill()
    await rm(directory, { recursive: true })
  })
  const url = (name = user, file = authority) =>
    `esdb://${name}@127.0.0.1:${server.port}?tlsCAFile=${encodeURIComponent(file)}`
  return { server, url, authority }
}
const causes = (error: unknown): string => (error instanceof Error ? `${error.message} < ${causes(error.cause)}` : '')

void t.test('over TLS every append, read and subscription sends the credentials', async (t) => {
  const { url } = await secured(t)
  const { log, errors } = await open(t, url())
  const stream = `test-${randomUUID()}`
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1, 'the events')
  await log.append(stream, [happened(2), happened(3)], 0n)
  await eventually(() => seen.length === 3, 'the events')
  t.equal((await collect(log.read(stream))).length, 3)
  t.equal(seen.length, 3)
  t.same(errors, [])
})

void t.test('a wrong password or an untrusted certificate is refused at once with its cause', async (t) => {
  const { url, authority } = await secured(t)
  const clock = virtualClock()
  const stranger = await open(t, url('admin:hunter2'), { clock })
  for (const ask of [() => stranger.log.head(), () => stranger.log.append('test-1', [happened(1)], 'none')]) {
    const error = await ask().catch((error: unknown) => error)
    t.match(error, { reason: 'backend_unavailable' })
    t.match(causes(error), /401/)
    t.notMatch(causes(error), /hunter2/)
    t.same([clock.monotonic(), clock.waiting()], [0, []], 'nothing was waited for')
  }
  const { cert } = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
  await writeFile(`${authority}.other`, cert)
  const misled = await open(t, url(undefined, `${authority}.other`), { patience: 500 })
  const error = await misled.log.head().catch((error: unknown) => error)
  t.match(error, { reason: 'backend_unavailable' })
  t.match(causes(error), /certificate/)
  await t.rejects(open(t, url(undefined, `${authority}.missing`)), /certificate file/)
})

void t.test('a certificate file that is missing for a while does not end the service', async (t) => {
  const { server, url, authority } = await secured(t)
  const { log } = await open(t, url())
  const stream = `test-${randomUUID()}`
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1 && server.counts.subscribe > 0, 'the events')
  await rename(authority, `${authority}.away`)
  // The follower replaces its client by its own timer.
  server.silence(true)
  await log.append(stream, [happened(2)], 0n)
  await eventually(() => seen.length === 2, 'the events')
  t.equal(seen.length, 2)
  await rename(`${authority}.away`, authority)
  server.silence(false)
  await log.append(stream, [happened(3)], 1n)
  await eventually(() => seen.length === 3, 'the events')
  t.equal(seen.length, 3)
})
