import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { rollcallProcess } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'file')
writeFileSync(file, 'a file')
const link = join(folder, 'link')
symlinkSync(file, link)

/** Objects at the path of a file whose opening could block for ever. */
const makers: Readonly<Record<string, (path: string) => void>> = {
  'a named pipe': (path) => void spawnSync('mkfifo', [path]),
  'a device': (path) => symlinkSync('/dev/zero', path),
  'a directory': (path) => mkdirSync(path),
}
const links: Readonly<Record<string, string>> = { 'a named pipe': 'pipe', 'a device': 'device', 'a directory': 'dir' }
const placeOf = (what: string): string => join(folder, links[what]!)
for (const [what, make] of Object.entries(makers)) make(placeOf(what))

const TOKEN = 'ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN_FILE'
const files = (path: string) => ({
  [TOKEN]: path,
  ROLLCALL_SERVER_PROTOCOL: 'https',
  ROLLCALL_SERVER_CERT_FILE: path,
  ROLLCALL_SERVER_CERT_KEY: path,
  ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_ENABLED: 'true',
  ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_CA_PATH: path,
})
const servers = (esdb: string, mongodb: string, redis: string) => ({
  ROLLCALL_STORAGE_TYPE: 'cluster',
  ROLLCALL_EVENTSTORE_URL: `esdb://a:b@127.0.0.1:1?tlsCAFile=${esdb}`,
  ROLLCALL_MONGODB_URL: `mongodb://127.0.0.1:1/?tls=true&tlsCAFile=${mongodb}`,
  ROLLCALL_REDIS_URL: 'rediss://127.0.0.1:1',
  ROLLCALL_REDIS_CA_FILE: redis,
  ROLLCALL_REDIS_CERT_FILE: redis,
  ROLLCALL_REDIS_CERT_KEY: redis,
})

for (const what of Object.keys(makers))
  await t.test(`${what} at the path of a configuration file is reported and never opened`, async (t) => {
    const path = placeOf(what)
    const { exit, out } = await rollcallProcess(['config', 'check', '--config', path], files(path))
    t.equal(exit, 3)
    for (const key of [
      path,
      'authentication.methods.token.bootstrap.token',
      'server.cert_file',
      'server.cert_key',
      'authentication.methods.orchestrator.ca_path',
    ]) {
      const line = out.split('\n').find((one) => one.startsWith(`${key}: `))
      t.match(line, `cannot be read (${what})`, key)
    }
    const named = await rollcallProcess(['config', 'check'], servers(path, path, path))
    t.equal(named.exit, 3)
    for (const key of ['eventstore.url', 'mongodb.url', 'redis.ca_file', 'redis.cert_file', 'redis.cert_key'])
      t.match(
        named.out.split('\n').find((one) => one.startsWith(`${key}: `)),
        `names a file that cannot be read (${what}): ${path}`,
        key,
      )
    const started = await rollcallProcess(['serve', '--config', path], { ROLLCALL_STORAGE_DATA_DIR: join(folder, 'd') })
    t.match([started.exit, started.err], [2, `cannot be read (${what})`], 'a start is refused')
  })

await t.test('a link to a configuration file is followed, as in mounted secrets', async (t) => {
  const { out } = await rollcallProcess(['config', 'check', '--config', link], files(link))
  t.notMatch(out, /cannot be read/)
})
