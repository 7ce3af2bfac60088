import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import type { moveStores } from '../../src/app/migrate/migrate.ts'
import type { createTokenOffline } from '../../src/app/offline/offline.ts'
import type { projectionStatus, rebuildProjections } from '../../src/app/offline/projections.ts'
import { readModelsOf } from '../../src/app/stores/read-models.ts'
import type { Around } from '../../src/cli/options.ts'
import { at } from '../../src/cli/terminal/output.ts'
import { progressBar } from '../../src/cli/terminal/progress.ts'
import { expiryOf } from '../../src/cli/token/create.ts'
import { startService } from '../start.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { insideAt } from './inside.ts'
import { type Answer, record, refusal, rollcall, rollcallProcess, standIn, terminalWith } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-cli-'))
const write = (name: string, content: string): string => {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}

await t.test('rollcall without a verb prints help, and suggests the right verb for a wrong one', async (t) => {
  const bare = await rollcall([])
  t.match([bare.exit, bare.out, bare.err], [0, /Usage: rollcall[^]*serve[^]*Exit codes/, ''])
  t.equal((await rollcall(['--help'])).exit, 0)
  const wrong = [
    { args: ['tokne'], said: /Did you mean token\?/ },
    { args: ['token', 'list', '--limt', '3'], said: /Did you mean --limit\?/ },
    { args: ['token', 'get'], said: /missing required argument/ },
    { args: ['token'], said: /Usage/ },
    { args: ['version', 'extra'], said: /too many arguments/ },
  ]
  for (const { args, said } of wrong) {
    const { exit, out, err } = await rollcall(args)
    t.match([exit, out, err], [2, '', said], args.join(' '))
  }
})

await t.test('rollcall help history lists each verb on the history with its summary', async (t) => {
  const { exit, out, err } = await rollcall(['help', 'history'])
  t.match([exit, err], [0, ''])
  for (const verb of ['events list', 'events verify [file]', 'token find', 'ledger resume', 'backup <dir>', 'migrate'])
    t.match(out, new RegExp(`^  ${verb.replaceAll(/[[\]]/g, '\\$&')} {2,}\\S`, 'm'), verb)
  t.match(await rollcall(['help', 'token']), { exit: 0, out: /Usage: rollcall token/ })
})

await t.test('every verb and every option has a description', async (t) => {
  let verbs = 0
  const check = async (words: readonly string[]): Promise<unknown> => {
    verbs++
    const { out } = await rollcall([...words, '--help'])
    const lines = (title: string) =>
      [...(out.split(`\n${title}:\n`)[1] ?? '').split('\n\n')[0]!.matchAll(/^ {2}\S.*$/gm)].map(([line]) => line)
    const commands = lines('Commands')
    for (const line of [...lines('Options'), ...commands])
      t.match(line, /^ {2}\S.*? {2,}\S/, `${words.join(' ')}: ${line}`)
    const names = commands.map((line) => /[\w-]+/.exec(line)![0])
    return Promise.all(names.filter((name) => name !== 'help').map((name) => check([...words, name])))
  }
  await check([])
  t.ok(verbs > 20, `${verbs} verbs`)
})

await t.test('rollcall version prints the version of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    version: string
  }
  t.match(JSON.parse((await rollcall(['version', '-o', 'json'])).out), { version, node: process.versions.node })
  t.strictSame(await rollcallProcess(['--version']), { exit: 0, out: `${version}\n`, err: '' })
})

await t.test('a reader that closes the pipe is not a failure', async (t) => {
  const main = resolve(import.meta.dirname, '../../src/main.js')
  for (const args of [['config', 'schema'], ['--help']]) {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk))
    t.strictSame([await once(child, 'close'), err], [[0, null], ''], args.join(' '))
  }
})

await t.test('options have priority over the environment, and the environment over defaults', async (t) => {
  const service = await standIn(() => ({ body: record('x') }))
  t.teardown(service.close)
  const [here, nowhere] = [service.address, 'http://127.0.0.1:1']
  const get = (args: readonly string[], env: NodeJS.ProcessEnv) => rollcall(['token', 'get', 'x', ...args], env)
  t.equal((await get([], { ROLLCALL_ADDRESS: here })).exit, 0)
  t.equal((await get(['--address', here], { ROLLCALL_ADDRESS: nowhere })).exit, 0)
  t.match(await get(['--address', nowhere], { ROLLCALL_ADDRESS: here }), {
    exit: 7,
    err: /No service answers at http:\/\/127\.0\.0\.1:1\./,
  })
  t.match(await get(['--help'], { ROLLCALL_ADDRESS: here }), {
    out: /default:\s+"http:\/\/127\.0\.0\.1:8080",\s+env: ROLLCALL_ADDRESS\)/,
  })
  const [named, other] = [write('named.yml', 'log: {level: WARN}'), write('other.yml', 'log: {level: ERROR}')]
  const level = async (args: readonly string[], env: NodeJS.ProcessEnv) =>
    /^log\.level +(.*)$/m.exec((await rollcall(['config', 'show', ...args], env)).out)![1]
  t.equal(await level(['--config', named], { ROLLCALL_CONFIG: other }), 'named.yml line 1  WARN')
  t.equal(await level([], { ROLLCALL_CONFIG: other }), 'other.yml line 1  ERROR')
  t.match(await rollcall(['config', 'show', '--help']), { out: /configuration file \(env: ROLLCALL_CONFIG\)/ })
})

await t.test('the answer of the service determines the exit code', async (t) => {
  const cases: readonly (readonly [number, Answer, RegExp])[] = [
    [5, refusal(401, 16, 'credential_missing', 'request was not authenticated'), /ROLLCALL_TOKEN/],
    [5, refusal(403, 7, 'token_scoped', 'permission denied'), /permission denied/],
    [4, refusal(404, 5, 'not_found', 'no such thing'), /no such thing/],
    [6, refusal(409, 10, 'write_conflict', 'being changed'), /being changed/],
    [6, refusal(412, 9, 'revision_moved', 'revision moved'), /revision moved/],
    [6, refusal(400, 3, 'not_unique', 'is not unique'), /is not unique/],
    [7, refusal(429, 8, 'rate_limited', 'too many requests'), /too many/],
    [7, refusal(503, 14, 'backend_unavailable', 'service is temporarily unavailable'), /temporarily/],
    [1, refusal(400, 3, 'invalid_argument', 'invalid field limit: x'), /invalid field limit/],
    [1, refusal(500, 13, 'internal', 'internal error'), /internal error/],
    [1, { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, /HTTP status 302/],
    [1, { text: '<html>' }, /is not Rollcall/],
    [7, { status: 502, text: '<html>' }, /HTTP status 502/],
  ]
  let answer: Answer = {}
  const service = await standIn(() => answer)
  t.teardown(service.close)
  for (const [exit, given, said] of cases) {
    answer = given
    const ran = await rollcall(['token', 'get', 'x', '--address', service.address])
    t.match([ran.exit, ran.out, ran.err], [exit, '', said], String(said))
  }
})

/** Runs a command against a stand-in on a virtual clock; returns its result once it is over. */
const running = (clock: VirtualClock, { address: url }: { readonly address: string }, ...args: readonly string[]) => {
  const state: { ran?: Awaited<ReturnType<typeof insideAt>> } = {}
  const over = insideAt(clock, { url, token: 'x' }, ...args).then((ran) => (state.ran = ran))
  return { state, over }
}

await t.test('the option --timeout limits the wait for an answer', async (t) => {
  const service = await standIn(() => ({ silent: true }))
  t.teardown(service.close)
  for (const [said, ms] of [
    [[], 10_000],
    [['--timeout', '200ms'], 200],
  ] as const) {
    const clock = virtualClock()
    const asked = service.seen.length
    const { state, over } = running(clock, service, 'token', 'get', 'x', ...said)
    await eventually(() => service.seen.length > asked, 'the request')
    await clock.advance(ms - 1)
    t.equal(state.ran, undefined)
    await clock.advance(1)
    t.match(await over, { exit: 7, err: new RegExp(`No answer from .* within ${ms} ms`) })
  }
})

await t.test('a read that a busy service refused is repeated until the timeout, but never a write', async (t) => {
  let [wait, left] = ['1', 2]
  const busy = (): Answer => ({
    ...refusal(429, 8, 'rate_limited', 'too many requests'),
    headers: { 'retry-after': wait },
  })
  const service = await standIn(({ method }) => (method === 'GET' && --left < 0 ? { body: record('x') } : busy()))
  t.teardown(service.close)
  /** Waits until the command sleeps for this time. */
  const resting = (clock: VirtualClock, ms: number) =>
    eventually(() => clock.waiting().includes(ms), `a rest of ${ms} ms`)
  const clock = virtualClock()
  const { over } = running(clock, service, 'token', 'get', 'x')
  for (const asked of [1, 2]) {
    await resting(clock, 1_000)
    await clock.advance(999)
    t.equal(service.seen.length, asked, 'not sooner than the service says')
    await clock.advance(1)
    await eventually(() => service.seen.length === asked + 1, 'the next request')
  }
  t.match(await over, { exit: 0, err: '' })
  t.equal(service.seen.length, 3)

  left = 1000
  wait = '5'
  for (const [timeout, times] of [
    ['5s', 1],
    ['5001ms', 2],
    ['9s', 2],
    ['10s', 2],
  ] as const) {
    const before = service.seen.length
    const clock = virtualClock()
    const { over } = running(clock, service, 'token', 'get', 'x', '--timeout', timeout)
    for (let n = 1; n < times; n++) {
      await resting(clock, 5_000)
      await clock.advance(5_000)
    }
    t.match(await over, { exit: 7, err: /too many/ }, 'the last answer is told')
    t.equal(service.seen.length - before, times, `${timeout}: no longer than there is time`)
  }
  t.match(await running(virtualClock(), service, 'token', 'create', 'ci').over, { exit: 7, err: /too many/ })
  t.equal(service.seen.filter(({ method }) => method === 'POST').length, 1)
})

await t.test('an unreachable service and an invalid address are reported', async (t) => {
  const gone = await standIn(() => ({}))
  gone.close()
  const ran = await rollcall(['token', 'list', '--address', gone.address])
  t.match(
    [ran.exit, ran.err],
    [7, /No service answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)[^]*rollcall serve/],
  )
  t.equal((await rollcall(['token', 'list', '--address', 'nonsense'])).exit, 2)
  const secret = await rollcall(['token', 'list'], { ROLLCALL_ADDRESS: 'http://me:hunter2@127.0.0.1:1' })
  t.equal(secret.exit, 2)
  t.notMatch(secret.err, /hunter2/)
})

await t.test('config check prints all problems and exits with 3', async (t) => {
  const bad = write(
    'bad.yml',
    'log: {level: LOUD}\nserver: {http_prt: 1}\nauthentication: {methods: {token: {bootstrap: {token: hunter2}}}}\n',
  )
  const ran = await rollcall(['config', 'check', bad])
  t.equal(ran.exit, 3)
  t.match(
    ran.out,
    /^server\.http_prt: is not a setting.*\(bad\.yml line 2\)\nlog\.level: .*line 1\)\nauthentication\.methods\.token\.bootstrap\.token: .*line 3\)\n$/,
  )
  t.match(ran.err, /3 problems/)
  t.notMatch(ran.out + ran.err, /hunter2/)
  const good = await rollcall(['config', 'check'], {
    ROLLCALL_CONFIG: write('good.yml', 'log: {level: INFO}'),
    ROLLCALL_LOG_LEVL: 'x',
  })
  t.match([good.exit, good.out, good.err], [0, '', /warning: ROLLCALL_LOG_LEVL[^]*is a valid configuration/])
  t.equal((await rollcall(['config', 'check', join(folder, 'none.yml')])).exit, 3)
})

await t.test('config show prints the effective settings and their sources', async (t) => {
  const file = write('show.yml', 'server: {http_port: 1}\n')
  const env = {
    ROLLCALL_LOG_LEVEL: 'WARN',
    ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN: 'hunter2hunter2hunter2',
  }
  const { exit, out } = await rollcall(['config', 'show', '--config', file], env)
  t.equal(exit, 0)
  t.match(out, /^log\.level +ROLLCALL_LOG_LEVEL +WARN$/m)
  t.match(out, /^server\.http_port +show\.yml line 1 +1$/m)
  t.match(out, /^server\.host +default +0\.0\.0\.0$/m)
  t.notMatch(out, /hunter2/)
  const rows = JSON.parse((await rollcall(['config', 'show', '-o', 'json'])).out) as object[]
  t.match(rows[0], { key: 'version', value: '1.0', source: 'default' })
  t.match(JSON.parse((await rollcall(['config', 'schema'])).out), {
    type: ['object', 'null'],
    additionalProperties: false,
  })
})

await t.test('the option --accept-lost-keys requires a reason', async (t) => {
  for (const reason of [' ', 'x'.repeat(501), 'two\nlines'])
    t.match(await rollcallProcess(['serve', '--accept-lost-keys', reason]), {
      exit: 2,
      err: /--accept-lost-keys must be 1 to 500 characters/,
    })
})

await t.test('serve reports all problems of the configuration before it listens', async (t) => {
  const ran = await rollcallProcess(['serve', '--port', 'many'], { ROLLCALL_LOG_LEVEL: 'LOUD' })
  t.match([ran.exit, ran.out, ran.err], [2, '', /log\.level: [^]*server\.http_port: [^]*\(command line\)/])
})

type Faked = {
  readonly createTokenOffline: typeof createTokenOffline
  readonly projectionStatus: typeof projectionStatus
  readonly rebuildProjections: typeof rebuildProjections
  readonly moveStores: typeof moveStores
}

/** Fake functions of the application for the command line, and their recorded calls. */
const house = () => {
  const asked: string[] = []
  const app: Faked = {
    createTokenOffline: async ({ storage }, { name }) => {
      asked.push(`create ${name} ${storage.type === 'cluster' ? 'on cluster' : `in ${storage.data_dir}`}`)
      return { clientToken: 'offline-token', authentication: record('id-9', name) }
    },
    projectionStatus: async () =>
      ['tokens', 'flags'].map((name) => ({ name, version: 1, position: '9', head: '10', lag: 1 })),
    rebuildProjections: async (_config, _clock, { names, progress }) => {
      for (const name of names) progress({ name, done: 10, total: 10 })
      asked.push(`rebuild ${names.join(' ')}`)
    },
    moveStores: async (from, to, { dryRun, progress }) => {
      progress({ name: 'copying', done: 4, total: 4 })
      asked.push(
        `move ${from.storage.data_dir} (${from.keys.file}) to ${to.storage.type} ${to.storage.data_dir}, dry run ${dryRun}`,
      )
      return dryRun ? { events: 4, copied: 4 } : { events: 4, copied: 4, streams: 2, subjects: 1, digest: 'abc' }
    },
  }
  return { asked, load: async () => app as never }
}
/** Runs a command with these functions; returns the exit code. */
const exitOn = async (load: Around['load'], ...args: readonly string[]) => (await rollcall(args, {}, '', { load })).exit

await t.test('projections rebuild asks for confirmation, then rebuilds some or all read models', async (t) => {
  const { asked, load } = house()
  t.equal(await exitOn(load, 'projections', 'rebuild'), 2)
  t.equal(await exitOn(load, 'projections', 'rebuild', 'tokens', '--all'), 2)
  t.equal(await exitOn(load, 'projections', 'rebuild', 'nothing', '--yes'), 4)
  t.equal(await exitOn(load, 'projections', 'rebuild', '--all', '--dry-run'), 0)
  t.strictSame(asked, [])
  t.equal(await exitOn(load, 'projections', 'rebuild', 'tokens', '--yes'), 0)
  t.equal(await exitOn(load, 'projections', 'rebuild', '--all', '--yes', '--data', folder), 0)
  t.strictSame(asked, ['rebuild tokens', 'rebuild tokens flags'])
})

await t.test('migrate asks for confirmation, then moves a store to a directory or to servers', async (t) => {
  const { asked, load } = house()
  const cluster =
    'storage: {type: cluster}\neventstore: {url: "esdb://e"}\nmongodb: {url: "mongodb://m"}\nredis: {url: "redis://r"}\n'
  const file = write('servers.yml', cluster)
  t.equal(await exitOn(load, 'migrate', '--from', 'a'), 2)
  t.equal(await exitOn(load, 'migrate', '--from', 'a', '--to', 'b'), 2, 'nobody is there to say yes')
  t.equal(await exitOn(load, 'migrate', '--from', 'a', '--to', './a/', '-y'), 2, 'to itself')
  t.equal(await exitOn(load, 'migrate', '--from', 'a', '--to', 'cluster', '-y'), 2, 'to no servers')
  t.strictSame(asked, [])
  t.equal(await exitOn(load, 'migrate', '--from', 'a', '--to', 'b', '--dry-run'), 0)
  t.equal(
    await exitOn(load, 'migrate', '--from', 'a', '--from-keys', 'k', '--to', 'cluster', '--config', file, '-y'),
    0,
  )
  t.strictSame(asked, ['move a (a/keys) to embedded b, dry run true', 'move a (k) to cluster ./data, dry run false'])
})

await t.test('token create works on the data only while the service is stopped', async (t) => {
  const { asked, load } = house()
  const gone = await standIn(() => ({}))
  gone.close()
  t.equal(await exitOn(load, 'token', 'create', 'rescue', '--data', folder, '-q'), 2, 'it says why')
  t.equal(await exitOn(load, 'token', 'create', 'rescue', '--data', folder, '-q', '--reason', 'lost'), 0)
  t.equal(
    await exitOn(load, 'token', 'create', 'rescue', '--address', gone.address, '--config', write('c.yml', '')),
    7,
    'an address was named',
  )
  t.strictSame(asked, [`create rescue in ${folder}`])
  const cluster =
    'storage: {type: cluster}\neventstore: {url: "esdb://e"}\nmongodb: {url: "mongodb://m"}\nredis: {url: "redis://r"}\n'
  t.equal(
    await exitOn(load, 'token', 'create', 'rescue', '--data', folder, '--config', write('cluster.yml', cluster)),
    2,
  )
  const servers = ['token', 'create', 'more', '--config', write('cluster.yml', cluster)]
  t.equal(await exitOn(load, ...servers), 2, 'it says why on servers too')
  t.equal(await exitOn(load, ...servers, '--address', gone.address, '--reason', 'lost'), 7, 'an address was named')
  t.equal(await exitOn(load, ...servers, '--reason', 'lost'), 0)
  t.strictSame(asked.slice(1), ['create more on cluster'])
})

await t.test('a command on the data needs an existing store and creates none', async (t) => {
  const there = join(folder, 'nowhere')
  for (const args of [
    ['token', 'create', 'rescue', '--reason', 'lost'],
    ['projections', 'status'],
    ['projections', 'rebuild', '--all', '--yes'],
  ]) {
    const { exit, out, err } = await rollcall([...args, '--data', there])
    t.match([exit, out], [4, ''], args.join(' '))
    t.match(err, /There is no \S+nowhere\/events\.sqlite\.\n.*--data/)
    t.notOk(existsSync(there), 'nothing was made')
  }
})

await t.test('without a terminal, progress is printed every ten seconds with rate and remaining time', async (t) => {
  const clock = virtualClock()
  const { terminal, err } = terminalWith()
  const { update, end } = progressBar(terminal, clock, { progress: true })
  const lines = () => err().split('\n').slice(0, -1)
  const at = async (ms: number) => {
    await clock.advance(ms - clock.monotonic())
    update({ name: 'tokens', done: Math.floor(ms / 10), total: 2500 })
  }
  for (const ms of [0, 5_000, 9_999]) await at(ms)
  t.strictSame(lines(), [])
  for (const ms of [10_000, 15_000, 19_999, 20_000, 25_000]) await at(ms)
  end()
  t.strictSame(lines(), [
    'tokens: 1000/2500 events, 100 events/s, 15 s left',
    'tokens: 2000/2500 events, 100 events/s, 5 s left',
    'tokens: 2500/2500 events, 100 events/s',
  ])
})

await t.test('an expiry is given as a time span from now, a time, or never', async (t) => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  t.equal(expiryOf('30d', now), '2026-01-31T00:00:00.000Z')
  t.equal(expiryOf('1d12h', now), '2026-01-02T12:00:00.000Z')
  t.equal(expiryOf('90m', now), '2026-01-01T01:30:00.000Z')
  t.equal(expiryOf('2026-06-01T00:00:00+02:00', now), '2026-05-31T22:00:00.000Z')
  t.equal(expiryOf('never', now), undefined)
  for (const text of ['', '0d', '30', '1x', '2026-06-01', '2025-01-01T00:00:00Z', '999999d'])
    t.throws(() => expiryOf(text, now), text)
  for (const text of ['2027-02-29T00:00:00Z', '2027-04-31T00:00:00+01:00'])
    t.throws(() => expiryOf(text, now), { message: /RFC 3339 time/ }, `${text} is no day`)
})

await t.test('option --field finds a field by its path, also if names contain dots', async (t) => {
  const value = { a: { 'b.c': { d: 1 } }, 'x.y': null }
  t.equal(at(value, 'a.b.c.d'), 1)
  t.equal(at(value, 'x.y'), null)
  t.equal(at(value, 'a.constructor'), undefined)
  t.equal(at(value, 'a.b'), undefined)
})

await t.test('an empty value of an option or a filter is refused, because it would mean everything', async (t) => {
  const empty: readonly (readonly [args: string, why: RegExp])[] = [
    ['access flag.update -n', /The value of --namespace is empty/],
    ['token list --issued-by', /The value of --issued-by is empty/],
    ['token create ci --namespace', /The value of --namespace is empty/],
    ['events export - --after-index', /The value of --after-index is empty/],
    ['events list --type', /Expected at least one value/],
    ['events tail --where', /Expected at least one value/],
  ]
  for (const [args, why] of empty) {
    const ran = await rollcall([...args.split(' '), ''], { ROLLCALL_ADDRESS: 'http://127.0.0.1:1' })
    t.match(ran, { exit: 2, out: '', err: why }, args)
  }
  for (const [option, text] of [
    ['--type', ' ,'],
    ['--where', 'type:'],
  ] as const)
    t.match(await rollcall(['events', 'list', option, text]), { exit: 2, err: /Expected at least one value/ })
  t.match(await rollcall(['flag', 'list', '-n', ' ']), { exit: 2, err: /The value of --namespace is empty/ })
  const written = await rollcall(['token', 'create', 'ci', '--description', '', '--dry-run'])
  t.equal(written.exit, 0, written.err)
})

await t.test('blanks at the ends of options and arguments are removed, those in names of files are not', async (t) => {
  const service = await startService(t)
  const target = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  await service.request('POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
  for (const key of ['a', 'b']) await service.request('POST', '/api/v1/namespaces/shop/flags', { key, name: key })
  const answers: readonly (readonly [args: readonly string[], out: RegExp])[] = [
    [['flag', 'list', '-n', ' shop ', '-o', 'name'], /^a\nb\n$/],
    [['flag', 'get', ' a ', '-n', 'shop\n', '-o', 'name'], /^a\n$/],
    [['can-i', ' flag.update ', '-n', 'shop '], /yes/],
    [['state', ' flag/shop+b ', '-o', 'json'], /"key": ?"b"/],
  ]
  for (const [args, out] of answers) t.match(await rollcall(args, target), { exit: 0, out }, args.join(' '))
  t.match(await rollcall(['import', ' f.yml'], target), { exit: 2, err: / f\.yml/ })
  const file = join(service.directory, 'x ')
  t.match(await rollcall(['export', '-o', file], target), { exit: 0 })
  t.ok(existsSync(file), 'the file has the name that was given')
})

await t.test('projections shows and rebuilds read models on the data of a stopped service', async (t) => {
  // This test requires a data directory, whatever storage the suites use.
  const embedded = { 'storage.type': 'embedded' }
  const service = await startService(t, embedded)
  for (const key of ['f', 'g'])
    await service.request('POST', '/api/v1/namespaces/default/flags', { key, name: key, enabled: true })
  const before = (await service.request('GET', '/api/v1/namespaces/default/flags')).json
  const data = join(service.directory, 'data')
  const status = async () => {
    const { exit, out, err } = await rollcall(['projections', 'status', '--data', data, '-o', 'json'])
    t.equal(exit, 0, err)
    return JSON.parse(out) as readonly Readonly<Record<string, unknown>>[]
  }
  const rebuild = ['projections', 'rebuild', '--all', '--yes', '--data', data]
  t.match(await rollcall(rebuild), { exit: 1, err: /is in use by process/ })
  await eventually(async () => /^rollcall_view_lag_events 0$/m.test(await service.metrics()), 'all rows to be written')
  await service.close()
  const stood = await status()
  t.strictSame(
    new Set(stood.map(({ name }) => name)),
    new Set(readModelsOf(new Uint8Array(32)).map(({ name }) => name)),
  )
  for (const view of stood) t.match(view, { lag: 0, position: view['name'] === 'event_index' ? /^\d+$/ : view['head'] })
  t.match(await rollcall(['projections', 'status', '--data', data]), {
    exit: 0,
    out: /^NAME +VERSION +POSITION +HEAD +LAG *\n/,
  })
  t.match(await rollcall(['projections', 'rebuild', 'flags', 'tokens', '--yes', '--data', data]), {
    exit: 0,
    out: '',
    err: /Rebuilding .*flags.* from the log, up to position \d+\.\n[^]*Done\.\n$/,
  })
  t.strictSame(await status(), stood)

  const again = await startService(t, embedded, { directory: service.directory })
  t.strictSame((await again.request('GET', '/api/v1/namespaces/default/flags')).json, before)
  t.equal((await again.request('GET', '/auth/v1/self')).status, 200, 'tokens are known as before')
})
