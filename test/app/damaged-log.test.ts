import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { deleteFlagOffline } from '../../src/app/offline/offline.ts'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { newDirectory } from '../adapters/embedded/store.ts'

const TOKEN = 'the-bootstrap-token-of-the-tests'
type Options = Parameters<typeof start>[1]
type Line = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string }

/** Data directory of a stopped service with three flags, one changed twice. */
const ran = async (t: Test) => {
  const directory = join(await newDirectory(t), 'data')
  const log = `${directory}.log`
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.type': 'embedded',
    'storage.data_dir': directory,
    'log.file': log,
    'authentication.methods.token.bootstrap.token': TOKEN,
  }
  const { config } = loadConfig({ env: {}, flags })
  const open = (options: Options = {}) => start(config, options)
  const service = await open()
  const ask = async (method: string, path: string, body: object) => {
    const answer = await fetch(`${service.url}/api/v1/namespaces/default${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify(body),
    })
    t.equal(answer.status, 200)
  }
  for (const key of ['f', 'g', 'h']) await ask('POST', '/flags', { key, name: key })
  for (const name of ['second', 'third']) await ask('PUT', '/flags/f', { name })
  await service.close()
  const file = join(directory, 'events.sqlite')
  const sql = async (text: string) => {
    const database = await openDatabase(file, 'durable')
    database.exec(text)
    database.close()
  }
  const logged = async () =>
    (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  return { config, file, open, sql, logged }
}

const WITHOUT_GUARDS = 'drop trigger events_never_change; drop trigger events_never_go;'
const GUARDS = `create trigger events_never_change before update on events begin select raise(abort, 'events are never changed'); end;
create trigger events_never_go before delete on events begin select raise(abort, 'events are never deleted'); end;`
const gone = (where: string) => `${WITHOUT_GUARDS} delete from events where ${where}; ${GUARDS}`

const refusedWith = async (t: Test, { config, open, file, logged }: Awaited<ReturnType<typeof ran>>, says: RegExp) => {
  for (const work of [open, () => deleteFlagOffline(config, { namespace: 'default', key: 'f' }, () => {})]) {
    const error = await work().then(
      async (running) => (await running?.close(), undefined),
      (error: Error & { kind?: string }) => error,
    )
    t.equal(error?.kind, 'check')
    for (const words of [
      says,
      new RegExp(file),
      /rollcall log check/,
      /from the backup/,
      /--accept-damaged-log REASON/,
    ])
      t.match(error?.message, words)
  }
  const errors = (await logged()).filter(({ level }) => level === 'ERROR')
  t.match(errors, [{ msg: says }])
  t.equal(errors.length, 1, 'one line tells the operator')
}

for (const [what, damage, says] of [
  [
    'removed triggers',
    WITHOUT_GUARDS,
    /trigger events_never_change: it is missing, so events may have been changed; trigger events_never_go: it is missing, so events may have been deleted/,
  ],
  [
    'a changed trigger',
    'drop trigger events_never_go; create trigger events_never_go before delete on events begin select 1; end;',
    /trigger events_never_go: it was changed, so events may have been deleted/,
  ],
  ['a hole in the positions', gone("stream = 'flag-default+g'"), /position \d+: 1 event missing/],
  ['a hole in a stream', gone("stream = 'flag-default+f' and revision = 1"), /stream flag-default\+f: 1 event missing/],
  ['a hole of several positions', gone('position in (3, 4)'), /positions 3 to 4: 2 events missing/],
  [
    'a missing index',
    'drop index events_stream',
    /index events_stream: it is missing, so a revision may have been written twice/,
  ],
] as const)
  await t.test(`${what} fails the start until an operator accepts it with a reason`, async (t) => {
    const service = await ran(t)
    await service.sql(damage)
    await refusedWith(t, service, says)
    const accepted = await service.open({ acceptDamagedLog: 'the disk was repaired' })
    await accepted.close()
    const database = await openDatabase(service.file, 'read')
    const [event] = database.prepare("select type, data, meta from events where stream = 'history-main'").all() as {
      type: string
      data: string
      meta: string
    }[]
    database.close()
    t.match(event!.type, /^DamagedLogAccepted/)
    t.match((JSON.parse(event!.data) as { findings: string[] }).findings.join('; '), says)
    t.match(JSON.parse(event!.meta), { reason: 'the disk was repaired', actor: { kind: 'operator' } })
    await (await service.open()).close()
    t.pass('what was accepted is not refused again')
    await service.sql(gone("stream = 'flag-default+h'"))
    await t.rejects(service.open(), /1 event missing/, 'what is damaged further is')
  })

await t.test('the option --accept-damaged-log does nothing if the log is intact', async (t) => {
  const service = await ran(t)
  await (await service.open({ acceptDamagedLog: 'because' })).close()
  const warned = (await service.logged()).filter(({ level }) => level === 'WARN')
  t.match(warned, [{ msg: /--accept-damaged-log has no effect/ }])
})
