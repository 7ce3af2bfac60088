import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { withRecords } from '../../src/app/stores/stored-records.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Around } from '../../src/cli/options.ts'
import { run } from '../../src/cli/program.ts'
import { clusterOf, withoutServers } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { ledgerServer, ORIGIN, VKEY } from './ledger-server.ts'
import { rollcall, terminalWith } from './service.ts'

const N = '/api/v1/namespaces/default'

/** A service with flags, and the command line on a proxy of it that has a ledger. */
const exporting = async (t: Test, flags: number, settings = {}) => {
  const service = await startService(t, settings)
  for (let n = 0; n < flags; n++) await service.request('POST', `${N}/flags`, { key: `f${n}`, name: 'Größe, "x"' })
  const server = await ledgerServer(t, service)
  const env = { ROLLCALL_ADDRESS: server.address, ROLLCALL_TOKEN: service.token }
  const cli = (...args: readonly string[]) => rollcall(['events', ...args], env)
  const folder = t.testdir()
  return { service, server, cli, path: (name: string) => join(folder, name), folder }
}

const optionsOf = (format: string): readonly (readonly string[])[] => {
  const zipped = format === 'parquet' ? [] : ['--gzip']
  return [
    ['--format', format],
    ...(format === 'parquet' ? [] : [['--format', format, '--gzip']]),
    ['--format', format, '--split-events', '7', '--type', 'Flag*'],
    ['--format', format, '--split-bytes', '5000', ...zipped, '--after-index', '3', '--before-index', '21'],
  ]
}

/** Loads modules of the application; the records of its stores have the ledger of a test. */
const withLedger =
  (checkpoint: () => Promise<string>): Around['load'] =>
  async (module) => {
    const app = await module()
    const { withRecords: open } = app as { readonly withRecords: typeof withRecords }
    const opened: typeof withRecords = (config, clock, work) =>
      open(config, clock, async (records) =>
        work({ ...records, ledger: async () => ({ origin: ORIGIN, vkeys: [VKEY], checkpoint: await checkpoint() }) }),
      )
    return { ...app, withRecords: opened }
  }

await t.test('exports of a service and of its store have equal files and manifests, which verify', async (t) => {
  const { service, server, cli, path } = await exporting(t, 12, { 'storage.type': 'embedded' })
  const data = ['--data', join(service.directory, 'data')]
  let n = 0
  for (const format of ['ndjson', 'csv', 'cloudevents', 'parquet'])
    for (const options of optionsOf(format)) {
      const names = [`served-${++n}`, `stored-${n}`] as const
      const [one, other] = [path(names[0]), path(names[1])]
      const ran = await cli('export', one, ...options)
      t.match(ran, { exit: 0, err: /^Exported \d+ events/ }, options.join(' '))
      const checkpoint = await server.ledger.checkpoint()
      const load = withLedger(async () => checkpoint)
      const stored = await rollcall(['events', 'export', other, ...options, ...data], {}, '', { load })
      t.equal(stored.exit, 0, stored.err)
      const files = (base: string) =>
        readdirSync(t.testdirName)
          .filter((name) => name === base || name.startsWith(`${base}-0`) || name.startsWith(`${base}.`))
          .map((name) => {
            const content = readFileSync(path(name)).toString('latin1')
            return [name.slice(base.length), name.endsWith('.json') ? content.replaceAll(base, 'x') : content]
          })
      t.strictSame(files(names[1]), files(names[0]), options.join(' '))
      t.ok(files(names[0]).length > 1)
      const verified = await rollcall(['events', 'verify', one, '--vkey', VKEY])
      t.match(verified, { exit: 0, err: '', out: /^verified \d+ events, size \d+, root \S{44}\n$/ }, options.join(' '))
    }
})

await t.test('a broken connection is continued, and the file is the same', async (t) => {
  const { server, cli, path } = await exporting(t, 30)
  const end = ['--before-index', '50']
  t.equal((await cli('export', path('whole'), ...end)).exit, 0)
  for (const bytes of [0, 1, 700, 9_000]) {
    server.cutAfter(bytes)
    const ran = await cli('export', path(`cut-${bytes}`), ...end)
    t.equal(ran.exit, 0, ran.err)
    t.strictSame(readFileSync(path(`cut-${bytes}`)), readFileSync(path('whole')), `${bytes} bytes`)
  }
})

await t.test('an interrupted export prints the command that continues it', async (t) => {
  const { service, server, cli, path } = await exporting(t, 30)
  const env = { ROLLCALL_ADDRESS: server.address, ROLLCALL_TOKEN: service.token }
  const forms = [
    [],
    ['--format', 'csv'],
    ['--gzip'],
    ['--split-events', '9'],
    ['--split-events', '9', '--gzip'],
    ['--format', 'ocsf'],
    ['--format', 'parquet'],
    ['--format', 'parquet', '--split-events', '9'],
  ]
  for (const [n, form] of forms.entries()) {
    const out = path(`it's ${n}`)
    const { terminal, err } = terminalWith(env)
    const load = () => Promise.reject(new Error('no service is needed'))
    const held = server.heldAfter(14_000)
    const running = run(['events', 'export', out, ...form], { load, clock: systemClock, terminal })
    await held
    // The stream is read up to here once the client has answered the next request.
    for (let n = 0; n < 50; n++) await new Promise((done) => setImmediate(done))
    process.emit('SIGINT')
    t.equal(await running, 130, err())
    t.notOk(existsSync(`${out}.manifest.json`))
    const [, command] = /To continue:\nrollcall (.*)\n$/.exec(err()) ?? []
    const words = command!
      .match(/'(?:[^']|'\\'')*'|\S+/g)!
      .map((word) => word.replaceAll(/^'|'$/g, '').replaceAll("'\\''", "'"))
    t.strictSame(words.slice(0, 3), ['events', 'export', out])
    // The log grows meanwhile, which the range of the export does not see.
    await service.request('POST', `${N}/flags`, { key: `more${n}`, name: 'x' })
    const again = await rollcall(words, env)
    t.equal(again.exit, 0, again.err)
    t.match(await cli('verify', out), form.includes('ocsf') ? { exit: 2, err: /cannot be verified/ } : { exit: 0 })
    const whole = path(`whole ${n}`)
    t.equal((await cli('export', whole, ...form, ...words.slice(-2))).exit, 0)
    const contents = (base: string) =>
      readdirSync(t.testdirName)
        .filter((name) => name === base || name.startsWith(`${base}-`))
        .map((name) => readFileSync(path(name)).toString('latin1'))
    t.strictSame(contents(`it's ${n}`), contents(`whole ${n}`), form.join(' '))
    t.match(await rollcall(words, env), { exit: 6, err: /exists[^]*complete/ })
  }
})

await t.test('export refuses wrong options, foreign checkpoints and existing files', async (t) => {
  const { server, cli, path } = await exporting(t, 3)
  for (const [args, exit, err] of [
    [['-', '--split-events', '3'], 2, /cannot be split/],
    [['-', '--resume'], 2, /cannot be resumed/],
    [[path('x'), '--format', 'parquet', '--gzip'], 2, /compressed already/],
    [['-', '--checkpoint', 'x'], 2, /--manifest FILE/],
    [[path('x'), '--format', 'csv', '--personal'], 2, /no form with opened personal data/],
    [[path('x'), '--checkpoint', path('none')], 4, /cannot be read \(ENOENT\)/],
    [[path('x'), '--category', 'flags'], 1, /unknown value "flags"/],
    [[path('x'), '--data', 'a', '--store'], 2, /cannot be used together/],
    [[path('none/x')], 1, /ENOENT/],
  ] as const)
    t.match(await cli('export', ...args), { exit, err }, args.join(' '))
  t.equal((await cli('export', path('one'))).exit, 0)
  t.match(await cli('export', path('one')), { exit: 6, err: /one\.manifest\.json exists/ })
  const lines = readFileSync(path('one'), 'utf8')
  t.match(await cli('export', '-', '--before-index', '5'), { exit: 0, out: lines.slice(0, 60), err: '' })

  const early = path('early')
  writeFileSync(early, await server.ledger.checkpoint(4))
  t.match(await cli('export', path('two'), '--checkpoint', early), { exit: 0, err: /Left out: \d+ events after/ })
  t.match(await cli('verify', path('two')), { exit: 0, out: /verified 4 events, size 4/ })
  t.equal((await cli('export', path('three'), '--against', early, '--after-index', '6')).exit, 0)
  t.equal((await cli('verify', path('three'), '--checkpoint', early)).exit, 0)
  const forged = path('forged')
  writeFileSync(forged, (await server.ledger.checkpoint(4)).replace('\n4\n', '\n5\n'))
  t.match(await cli('export', path('four'), '--against', forged), { exit: 3, err: /wrong signature/ })
  writeFileSync(path('one'), lines.slice(0, -10))
  t.match(await cli('verify', path('one')), { exit: 3, out: /one: wrong file hash/ })
})

await t.test('service and store prove their events by the ledger of the service', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  for (let n = 0; n < 200; n++) await service.request('POST', `${N}/flags`, { key: `f${n}`, name: 'f' })
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const cli = (...args: readonly string[]) => rollcall(['events', ...args], env)
  const folder = t.testdir()
  const [served, stored] = [join(folder, 'served'), join(folder, 'stored')]
  const data = ['--data', join(service.directory, 'data')]
  const what = ['--type', 'FlagCreated', '--before-index', '300']
  t.match(await cli('export', served, ...what), { exit: 0, err: /^Exported \d+ events/ })
  t.match(await cli('export', stored, ...what, ...data), { exit: 0, err: /^Exported \d+ events/ })
  t.strictSame(readFileSync(stored), readFileSync(served))
  const { keys } = (await service.request<{ keys: { vkey: string }[] }>('GET', '/audit/v1/ledger')).json
  for (const file of [served, stored])
    t.match(await cli('verify', file, '--vkey', keys[0]!.vkey), { exit: 0, err: '', out: /^verified / }, file)
  t.ok(existsSync(`${served}.proof`), 'a proof of more than 64 hashes has a file')
  t.match(await cli('verify', ...data), { exit: 0, out: /^verified / })
  const clouds = await cli('tail', '--format', 'cloudevents', '-n', '3', '--type', 'FlagCreated')
  await cli('export', join(folder, 'clouds'), '--type', 'FlagCreated', '--format', 'cloudevents')
  t.equal(clouds.out, readFileSync(join(folder, 'clouds'), 'utf8').split('\n').slice(-4).join('\n'))

  // The form leaves out FlagRegistered.
  const [path, flags] = [join(folder, 'ocsf'), 'FlagRegistered,FlagCreated']
  t.match(await cli('export', path, '--type', flags, '--format', 'ocsf'), { exit: 0, err: /^Exported 200 events/ })
  const lines = readFileSync(path, 'utf8')
  t.equal((await service.request('GET', `/audit/v1/events?format=ocsf&type=${flags}`)).text, lines)
  await cli('export', `${path}-stored`, '--type', flags, '--format', 'ocsf', ...data)
  t.equal(readFileSync(`${path}-stored`, 'utf8'), lines)
  const tailed = await cli('tail', '--format', 'ocsf', '-n', '6', '--type', flags)
  t.equal(tailed.out, lines.split('\n').slice(-4).join('\n'))
  t.match(await cli('verify', path), { exit: 2, err: /cannot be verified/ })
  t.notMatch(lines, /src_endpoint/)
  const opened = await cli('export', '-', '--type', 'FlagCreated', '--format', 'ocsf', '--personal')
  t.match(opened.out, /"src_endpoint":\{"ip":"127\.0\.0\.1"\}/)
})

await t.test('an export and a replay of servers equal those of their service', { skip: withoutServers }, async (t) => {
  const service = await startService(t)
  for (let n = 0; n < 9; n++) await service.request('POST', `${N}/flags`, { key: `f${n}`, name: 'f' })
  const settings = Object.entries(await clusterOf(service.directory))
  const stored = Object.fromEntries(
    settings.map(([key, value]) => [`ROLLCALL_${key.toUpperCase().replaceAll('.', '_')}`, value]),
  )
  const served = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const folder = t.testdir()
  const exported = (name: string, env: NodeJS.ProcessEnv, ...more: readonly string[]) =>
    rollcall(['events', 'export', join(folder, name), '--before-index', '20', ...more], env)
  t.match(await exported('served', served), { exit: 0 })
  t.match(await exported('stored', stored, '--store'), { exit: 0 })
  t.strictSame(readFileSync(join(folder, 'stored')), readFileSync(join(folder, 'served')))
  t.match(await rollcall(['events', 'verify', '--store'], stored), { exit: 0, out: /^verified \d+ events/ })
  const replayed = await rollcall(['events', 'replay', '--store', '--compare', service.url], {
    ...stored,
    ROLLCALL_TOKEN: service.token,
  })
  t.match(replayed, { exit: 0, err: /The read models of \S+ are equal/ })
})
