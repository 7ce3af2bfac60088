import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { collect, happened } from '../../contracts/log.ts'
import { newDirectory } from './store.ts'

/** An open store with one event, whose files another connection changes. */
const opened = async (t: Test) => {
  const directory = await newDirectory(t)
  const reported: string[] = []
  const report = (kind: string) => (error: Error) => void reported.push(`${kind} ${error.message}`)
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: randomBytes(32),
    onError: () => undefined,
    onLost: report('lost'),
    onDamage: report('damage'),
    onDamagedViews: report('views'),
  })
  t.teardown(store.close)
  await store.log.append('token-1', [happened(1)], 'none')
  const execute = async (name: string, sql: string) => {
    const database = await openDatabase(join(directory, name), name === 'subjects.sqlite' ? 'erasing' : 'durable')
    database.exec(sql)
    database.close()
  }
  return { store, reported, execute }
}

const EVENT = "new.position, new.stream, new.revision, new.id, 'Other', new.time, '{}', new.meta"

for (const [what, sql] of [
  [
    'exchanges an event',
    `create trigger z before insert on events begin insert into events values (${EVENT}); select raise(ignore); end`,
  ],
  ['drops an event', 'create trigger z before insert on events begin select raise(ignore); end'],
  [
    'appends an event',
    `create trigger z after insert on events when new.stream <> 'x' begin
     insert into events values (new.position + 1, 'x', 0, 'x', 'x', new.time, '{}', '{}'); end`,
  ],
  [
    'changes an event',
    `drop trigger events_never_change;
     create trigger z after insert on events begin update events set data = '{}' where position = new.position; end`,
  ],
  [
    'writes another table',
    "create trigger z after insert on events begin insert into runs (name, started) values ('x', 1); end",
  ],
] as const)
  await t.test(`an append fails if a trigger under the running service ${what}`, async (t) => {
    const { store, reported, execute } = await opened(t)
    await execute('events.sqlite', sql)
    await t.rejects(store.log.append('token-1', [happened(2), happened(3)], 0n))
    t.match(reported, [
      /^lost .*events\.sqlite: (?:an event is not stored as it was written|a trigger that is not of|UNIQUE constraint failed)/,
    ])
    t.equal((await collect(store.log.readAll(0n))).length, 1, 'nothing is written')
    await t.rejects(store.log.append('token-2', [happened(4)], 'none'))
  })

await t.test('a record of an answer is refused if a trigger writes with it', async (t) => {
  const { store, reported, execute } = await opened(t)
  const sql = `create trigger z after insert on records begin
   insert into events values ((select max(position) + 1 from events), 'x', 0, 'x', 'x', '9', '{}', '{}'); end`
  await execute('events.sqlite', sql)
  await t.rejects(store.views.swapRecord('kind', 'key', 0, { value: 1 }, 9e15))
  t.match(reported, [/^lost .*a trigger that is not of this version changed what was written/])
  t.equal((await collect(store.log.readAll(0n))).length, 1)
})

await t.test('an inspection reports foreign objects of each file of a running service', async (t) => {
  const { store, reported, execute } = await opened(t)
  await store.inspect(new AbortController().signal)
  t.strictSame(reported, [])
  await execute('subjects.sqlite', 'create view z as select * from subjects')
  await store.inspect(new AbortController().signal)
  t.match(reported, [/^damage .*subjects\.sqlite: view z: it is not part of this version/])
  await execute('views.sqlite', 'create trigger z after insert on views begin select 1; end')
  await store.inspect(new AbortController().signal)
  t.match(reported.at(-1), /^views .*views\.sqlite: trigger z/)
})
