import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { inspection } from '../../src/adapters/embedded/files/look.ts'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

/** Files that the program `sqlite3` changed, so that SQLite executes or reads other content than the service wrote. */
const SETTINGS = { 'storage.type': 'embedded', 'history.ledger.seal_events': '1' }
const sqlite3 = promisify(execFile)
const present = await sqlite3('sqlite3', ['-version']).then(Boolean, () => false)

/** Each part of the text, which `;;` separates, runs on a connection of its own. */
const change = async (file: string, sql: string): Promise<void> => {
  for (const part of sql.split(';;')) await sqlite3('sqlite3', ['-bail', file, part])
}
const FILES = ['events.sqlite', 'subjects.sqlite', 'ledger.sqlite'] as const

/** A stopped service with a token and flags, a backup of it, and its retained checkpoint. */
const stopped = async (t: Test) => {
  const service = await startService(t, SETTINGS)
  for (const key of ['f', 'g'])
    t.equal((await service.request('POST', '/api/v1/namespaces/default/flags', { key, name: key })).status, 200)
  const [data, backup] = [join(service.directory, 'data'), join(service.directory, 'backup')]
  const retained = join(service.directory, 'retained')
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  t.equal((await rollcall(['checkpoint', '--seal', '--save', retained], env)).exit, 0)
  await service.close()
  t.match(await rollcall(['backup', backup, '--data', data, '--with-keys']), { exit: 0 })
  let serial = 0
  const copyOf = async (from: string) => {
    const copy = join(service.directory, `copy-${serial++}`)
    await cp(from, copy, { recursive: true })
    return copy
  }
  return { data, backup, retained, copyOf }
}
type Stopped = Awaited<ReturnType<typeof stopped>>

const startOn = (data: string) =>
  start(
    loadConfig({
      env: {},
      flags: {
        ...SETTINGS,
        'server.host': '127.0.0.1',
        'server.http_port': '0',
        'storage.data_dir': data,
        'log.file': `${data}.log`,
      },
    }).config,
  ).then(
    async (service) => (await service?.close(), 'started'),
    (error: Error) => error.message,
  )

/** Puts the size and the digest of a changed file into the manifest, as someone with access to the backup can. */
const declare = async (backup: string, name: string): Promise<void> => {
  const path = join(backup, 'backup.json')
  const manifest = JSON.parse(await readFile(path, 'utf8')) as {
    files: { name: string; bytes: number; sha256: string }[]
  }
  const bytes = await readFile(join(backup, name))
  const file = manifest.files.find((each) => each.name === name)!
  Object.assign(file, { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  await writeFile(path, `${JSON.stringify(manifest)}\n`)
}

/** Checks that a change of a file is refused by a start and by each command that reads the file. */
const refusedEverywhere = async (
  t: Test,
  { data, backup, retained, copyOf }: Stopped,
  name: (typeof FILES)[number],
  sql: string,
  says: RegExp,
  isSeenByStart = true,
) => {
  const changed = await copyOf(data)
  await change(join(changed, name), sql)
  if (isSeenByStart) t.match(await startOn(changed), says, 'the start')
  const checked = await rollcall(['log', 'check', '--data', changed, '-o', 'json'])
  const found = JSON.parse(checked.out) as readonly { readonly where: string; readonly found: string }[]
  t.match([checked.exit, found.map((one) => `${one.where}: ${one.found}`).join('; ')], [3, says], 'log check')
  const copied = await rollcall(['backup', `${changed}-backup`, '--data', changed, '--with-keys'])
  t.match(copied, { exit: 3, err: says }, 'backup')
  if (name !== 'subjects.sqlite') {
    const verified = await rollcall(['events', 'verify', '--data', changed, '--checkpoint', retained])
    t.match(verified, { exit: 3, err: says }, 'events verify')
  }
  const hostile = await copyOf(backup)
  await change(join(hostile, name), sql)
  await declare(hostile, name)
  const into = `${hostile}-restored`
  const restored = await rollcall(['restore', hostile, '--into', into, '--checkpoint', retained])
  t.match(restored, { exit: 3, err: says }, 'restore')
  t.strictSame(await readdir(into), [], 'nothing is left in the target')
}

const REVIVE = `create trigger z before insert on events when new.type = 'TokenRevoked' begin
 insert into events values (new.position, new.stream, new.revision, new.id, 'TokenExpiryChanged', new.time,
  '{"id":"' || substr(new.stream, 7) || '","to":"2036-01-01T00:00:00.000Z"}', new.meta);
 select raise(ignore); end`
const FOREIGN = /z: it is not part of this version, so it may change what is read or written/
const CHANGED = /: it was changed/

await t.test(
  'content that this version did not make',
  { skip: present ? false : 'needs the program sqlite3' },
  async (t) => {
    const whole = await stopped(t)
    for (const [what, name, sql, says] of [
      ['a trigger that revives a token', 'events.sqlite', REVIVE, FOREIGN],
      [
        'a trigger that drops a revocation',
        'events.sqlite',
        "create trigger z before insert on events when new.type = 'TokenRevoked' begin select raise(ignore); end",
        FOREIGN,
      ],
      [
        'a trigger that appends an event',
        'events.sqlite',
        `create trigger z after insert on events when new.stream = 'flag-default+f' begin
     insert into events values (new.position + 1, 'x', 0, 'x', 'x', new.time, '{}', '{}'); end`,
        FOREIGN,
      ],
      [
        'a trigger on the runs of jobs',
        'events.sqlite',
        'create trigger z after insert on runs begin delete from records; end',
        FOREIGN,
      ],
      [
        'an index that is not unique',
        'events.sqlite',
        'drop index events_stream; create index events_stream on events (stream, revision)',
        CHANGED,
      ],
      [
        'a partial index with an expression',
        'events.sqlite',
        "create index z on events (lower(stream)) where type <> 'x'",
        FOREIGN,
      ],
      ['a view', 'events.sqlite', 'create view z as select * from events', FOREIGN],
      ['a table with statistics', 'events.sqlite', 'analyze', /sqlite_stat1: it is not part of this version/],
      ['a virtual table', 'events.sqlite', 'create virtual table z using fts5(text)', FOREIGN],
      [
        'a table with a counter',
        'events.sqlite',
        'create table z (n integer primary key autoincrement)',
        /(?:z|sqlite_sequence): it is not part of this version/,
      ],
      [
        'a generated column',
        'events.sqlite',
        'alter table events add column copy text generated always as (lower(type)) virtual',
        CHANGED,
      ],
      [
        'a trigger on keys',
        'subjects.sqlite',
        'create trigger z after update on subjects begin insert into lost_subjects values (old.subject, old.key); end',
        FOREIGN,
      ],
      ['a view of keys', 'subjects.sqlite', 'create view z as select * from subjects', FOREIGN],
      [
        'a trigger on the sealed record',
        'ledger.sqlite',
        "create trigger z before insert on sealed when new.record like '%copy%' begin select raise(ignore); end",
        FOREIGN,
      ],
      ['an index of the ledger', 'ledger.sqlite', 'create index z on checkpoints (at)', FOREIGN],
    ] as const)
      await t.test(
        `${what} is refused by the start and each command`,

        async (t) => refusedEverywhere(t, whole, name, sql, says),
      )

    const GUARDS = ['events_never_change', 'events_never_go'].map((name) => `drop trigger ${name};`).join(' ')
    const MADE = `create trigger events_never_change before update on events begin select raise(abort, 'events are never changed'); end;
create trigger events_never_go before delete on events begin select raise(abort, 'events are never deleted'); end;`
    const F = "where stream = 'flag-default+f'"
    const schema = (from: string, to: string) =>
      `pragma writable_schema=on; update sqlite_schema set sql = replace(sql, '${from}', '${to}') where name = 'events'`
    const WRONG = /a value has U\+0000|a text of the event has U\+0000|non-TEXT value in events/
    for (const [what, name, sql, isSeenByStart] of [
      ['U+0000 in a stream', 'events.sqlite', `update events set stream = stream || char(0) ${F}`, true],
      ['U+0000 in a type', 'events.sqlite', `update events set type = type || char(0) || 'x' ${F}`, false],
      ['U+0000 in an id', 'events.sqlite', `update events set id = id || char(0) ${F}`, false],
      ['U+0000 in a time', 'events.sqlite', `update events set time = time || char(0) ${F}`, false],
      ['U+0000 in the data', 'events.sqlite', `update events set data = data || char(0) || '{}' ${F}`, false],
      ['U+0000 in the metadata', 'events.sqlite', `update events set meta = meta || char(0) ${F}`, false],
      [
        'a stream stored as bytes',
        'events.sqlite',
        `${schema(') strict', ')')};; update events set stream = cast(stream as blob) ${F};; ${schema('not null\n)', 'not null\n) strict')}`,
        true,
      ],
      [
        'an index that hides a stream',
        'events.sqlite',
        `create table kept as select * from sqlite_schema where name = 'events_stream'; pragma writable_schema=on;
       delete from sqlite_schema where name = 'events_stream';; update events set stream = 'flag-default+x' ${F};;
       pragma writable_schema=on; insert into sqlite_schema select * from kept;; drop table kept`,
        false,
      ],
      ['U+0000 in a subject', 'subjects.sqlite', "insert into subjects values ('x' || char(0), x'00')", true],
      ['U+0000 in a checkpoint', 'ledger.sqlite', 'update checkpoints set text = text || char(0)', true],
    ] as const)
      await t.test(`${what} is refused by the start or the scrub, and by each command`, async (t) => {
        const isOfEvents = name === 'events.sqlite'
        const says = what.startsWith('an index') ? /events_stream|missing in the index|Not verified/ : WRONG
        const whole_ = isOfEvents ? `${GUARDS} ${sql};; ${MADE}` : sql
        await refusedEverywhere(t, whole, name, whole_, says, isSeenByStart)
        const changed = await whole.copyOf(whole.data)
        await change(join(changed, name), whole_)
        if (!isOfEvents) return
        const found: string[] = []
        const [events, subjects, views] = ['events', 'subjects', 'views'].map((of) => join(changed, `${of}.sqlite`))
        const note = ({ message }: Error) => void found.push(message)
        const paths = { events: events!, subjects: subjects!, views: views! }
        await inspection(paths, note, note)(new AbortController().signal)
        t.match(found, [/events\.sqlite: position \d+: a value has U\+0000/], 'the scrub')
      })

    await t.test(
      'an index that lacks the events of a stream is refused by the start, the check and a backup',
      async (t) => {
        const data = await whole.copyOf(whole.data)
        const root = (of: string) => `(select rootpage from kept where name = '${of}')`
        await change(
          join(data, 'events.sqlite'),
          `create table z (position integer primary key, stream text, revision integer);
       insert into z select position, stream, revision from events where stream <> 'flag-default+f';
       create unique index y on z (stream, revision); create table kept as select name, rootpage from sqlite_schema;
       pragma writable_schema=on; update sqlite_schema set rootpage = ${root('y')} where name = 'events_stream';
       update sqlite_schema set rootpage = ${root('events_stream')} where name = 'y';; drop table z; drop table kept`,
        )
        t.match(await startOn(data), /index events_stream: it does not have one entry for each event/, 'the start')
        const checked = await rollcall(['log', 'check', '--data', data, '-o', 'json'])
        t.match(checked, { exit: 3, out: /events_stream/ }, 'log check')
        const copied = await rollcall(['backup', `${data}-backup`, '--data', data, '--with-keys'])
        t.match(copied, { exit: 3, err: /events_stream/ }, 'backup')
      },
    )

    await t.test(
      'a trigger in the read models is set aside at the start',

      async (t) => {
        const data = await whole.copyOf(whole.data)
        await change(
          join(data, 'views.sqlite'),
          'create trigger z after insert on views begin delete from views; end; create index y on views (log)',
        )
        t.equal(await startOn(data), 'started')
        const lines = await readFile(`${data}.log`, 'utf8')
        t.match(lines, /"level":"WARN".*trigger z: it is not part of this version.*damaged read models were set aside/)
        t.equal(await startOn(data), 'started')
        t.equal((await readFile(`${data}.log`, 'utf8')).split('set aside').length, 2, 'the new file is accepted')
      },
    )

    await t.test('a restored database has the schema of this version and the rows of the backup', async (t) => {
      const { data, backup, retained } = whole
      const into = `${data}-restored`
      t.match(await rollcall(['restore', backup, '--into', into, '--checkpoint', retained]), { exit: 0 })
      const rows = async (directory: string, name: string, of: string) =>
        (await sqlite3('sqlite3', ['-readonly', join(directory, name), of])).stdout
      for (const [name, of] of [
        ['events.sqlite', 'select * from events; select * from records; select * from runs'],
        [
          'subjects.sqlite',
          'select subject, hex(key) from subjects; select * from lost_subjects; select * from binding',
        ],
        ['ledger.sqlite', 'select level, n, hex(hashes) from tiles; select * from checkpoints'],
      ] as const)
        for (const sql of [of, 'select type, name, tbl_name, sql from sqlite_schema order by name'])
          t.equal(await rows(into, name, sql), await rows(backup, name, sql), `${name}: ${sql}`)
      t.equal((await stat(join(into, 'events.sqlite'))).mode & 0o777, 0o600)
      t.equal(await startOn(into), 'started')
    })
  },
)
