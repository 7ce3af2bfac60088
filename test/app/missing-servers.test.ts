import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { IN_MEMORY, ownMongo, redisWith, STAND_IN_BULK } from '../adapters/servers.ts'
import { freePort } from '../free-port.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { scriptedMongo } from '../stand-ins/mongodb.ts'
import { eventually } from '../wait.ts'

const SECRET = 'correct-horse-battery'
type Settings = Readonly<Record<string, string>>
type Line = {
  readonly level: string
  readonly msg: string
  readonly missing?: string
  readonly why?: string
  readonly adapter?: string
}

const folder = async (t: Test): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(made, { recursive: true }))
  return made
}

const certificate = async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'stranger' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  return { cert, key }
}

/** Server with an untrusted certificate. */
const stranger = async (t: Test): Promise<number> => {
  const server: Server = createServer({ ...(await certificate()), ALPNProtocols: ['h2'] })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Starts on unsuitable servers until a log line matches; returns all lines. */
const startOn = async (t: Test, settings: Settings, found: (line: Line) => boolean): Promise<readonly Line[]> => {
  const directory = await folder(t)
  const log = join(directory, 'log')
  await writeFile(log, '')
  const flags = { 'storage.type': 'cluster', 'server.host': '127.0.0.1', 'server.http_port': '0', 'log.file': log }
  const { config } = loadConfig({ env: {}, flags: { ...flags, 'keys.file': join(directory, 'keys'), ...settings } })
  const ending = new AbortController()
  const state = { over: false }
  const starting = start(config, { ending: ending.signal })
    .then(({ close }) => close())
    .catch((error: unknown) => t.equal(error, ending.signal.reason))
    .finally(() => (state.over = true))
  const lines = async () =>
    (await readFile(log, 'utf8')).split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
  await eventually(async () => state.over || (await lines()).some(found), 'a line that tells the cause')
  ending.abort()
  await starting
  t.notMatch(await readFile(log, 'utf8'), SECRET)
  return lines()
}

const tells = async (t: Test, settings: Settings, missing: string, why: RegExp) => {
  const lines = await startOn(t, settings, (line) => line.missing !== undefined)
  const told = lines.filter((line) => line.missing !== undefined)
  t.match(told, [{ level: 'WARN', missing: `${missing} is unreachable or refuses the connection`, why }])
}

const none = async (scheme: string) => `${scheme}://127.0.0.1:${await freePort()}`
const others = async (): Promise<Settings> => ({
  'eventstore.url': `${await none('esdb')}?tls=false`,
  'redis.url': await none('redis'),
})
/** MongoDB that accepts connections. */
const mongo = (t: Test) => scriptedMongo(t, () => undefined)

await t.test('a start reports that MongoDB refuses the connection', async (t) =>
  tells(t, { ...(await others()), 'mongodb.url': await none('mongodb') }, 'mongodb', /^connect ECONNREFUSED 127/),
)

await t.test('a start reports that the host name of MongoDB is unknown', async (t) =>
  tells(t, { ...(await others()), 'mongodb.url': 'mongodb://nowhere.invalid' }, 'mongodb', /nowhere\.invalid/),
)

await t.test('a start reports that MongoDB rejects the password', async (t) => {
  const refusing = await scriptedMongo(t, (command) =>
    'saslStart' in command
      ? { ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: 'Authentication failed.' }
      : undefined,
  )
  const url = refusing.replace('//', `//admin:${SECRET}@`)
  await tells(t, { ...(await others()), 'mongodb.url': url }, 'mongodb', /^Authentication failed\.$/)
})

await t.test('a start reports that the certificate of MongoDB is not trusted', async (t) => {
  const url = `mongodb://127.0.0.1:${await stranger(t)}/?tls=true`
  await tells(t, { ...(await others()), 'mongodb.url': url }, 'mongodb', /self-signed certificate/)
})

await t.test('a start reports that EventStoreDB refuses the connection', async (t) =>
  tells(t, { ...(await others()), 'mongodb.url': await mongo(t) }, 'eventstore', /ECONNREFUSED 127/),
)

await t.test('a start reports that EventStoreDB rejects the password', async (t) => {
  const { cert, key } = await certificate()
  const server = await startEventStore({ secured: { cert, key, user: 'admin:another' } })
  t.teardown(() => server.kill())
  const authority = join(await folder(t), 'ca.pem')
  await writeFile(authority, cert)
  const url = `esdb://admin:${SECRET}@127.0.0.1:${server.port}?tlsCAFile=${encodeURIComponent(authority)}`
  await tells(t, { ...(await others()), 'mongodb.url': await mongo(t), 'eventstore.url': url }, 'eventstore', /401/)
})

await t.test('a start reports that the certificate of EventStoreDB is not trusted', async (t) => {
  const url = `esdb://admin:${SECRET}@127.0.0.1:${await stranger(t)}`
  await tells(
    t,
    { ...(await others()), 'mongodb.url': await mongo(t), 'eventstore.url': url },
    'eventstore',
    /certificate/,
  )
})

const real = await ownMongo(t)
const secret = await redisWith(t, (port) => ['--port', `${port}`, ...IN_MEMORY, '--requirepass', 'another'])

/** A start does not need Redis, so its problems are logged by the running service. */
const tellsOfRedis = async (t: Test, url: string, why: RegExp, advice: RegExp) => {
  const events = await startEventStore()
  t.teardown(() => events.kill())
  const stack = { 'mongodb.url': real.server!.url, 'eventstore.url': events.url, 'redis.url': url }
  const bulk = { 'mongodb.database': `t${events.port}`, 'mongodb.bulk_size': String(STAND_IN_BULK) }
  const lines = await startOn(t, { ...stack, ...bulk }, ({ adapter }) => adapter === 'redis')
  const told = lines.filter(({ adapter }) => adapter === 'redis')
  t.match(told, [{ level: 'ERROR', why, advice }])
}

await t.test('a start reports that Redis refuses the connection', real, async (t) =>
  tellsOfRedis(t, await none('redis'), /^connect ECONNREFUSED 127/, /is reachable/),
)

await t.test('a start reports that Redis rejects the password', { skip: real.skip || secret.skip }, async (t) =>
  tellsOfRedis(t, secret.server!.url.replace('//', `//:${SECRET}@`), /WRONGPASS/, /redis\.password/),
)

await t.test('a start reports that the certificate of Redis is not trusted', real, async (t) =>
  tellsOfRedis(t, `rediss://127.0.0.1:${await stranger(t)}`, /self-signed certificate/, /redis\.ca_file/),
)
