import { closeSync, existsSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { insistOnSchema, subjectsSchema } from '../schema.ts'
import { type Database, rowsOf } from '../sqlite.ts'
import type { Calls } from './protocol.ts'

/**
 * Part of the writer thread that writes the encryption keys of people. Each call is a transaction of its own. `journal`
 * is the path of the database's rollback journal.
 */
export const keysWriter = (database: Database, journal: string) => {
  database.exec(subjectsSchema)
  insistOnSchema(database, subjectsSchema)
  const find = rowsOf(database, 'select key from subjects where subject = ?')
  const make = database.prepare('insert or ignore into subjects (subject, key) values (?, ?)')
  const destroy = database.prepare(
    'insert into subjects (subject) values (?) on conflict (subject) do update set key = null',
  )
  const destroyAside = database.prepare('delete from lost_subjects where subject = ?')

  const aside = rowsOf(database, 'select 1 from lost_subjects where subject = ?')
  const between = rowsOf(
    database,
    `select subject from subjects where subject >= ? and subject < ? and key is not null
     union select subject from lost_subjects where subject >= ? and subject < ? order by subject limit ?`,
  )

  const bound = rowsOf(database, 'select event, position from binding')
  const bind = database.prepare('insert or ignore into binding (only, event, position) values (1, ?, ?)')

  const readBinding: Calls['readBinding'] = () => bound.get() as ReturnType<Calls['readBinding']>
  const findKey: Calls['findKey'] = (subject) => (find.get(subject) as [Uint8Array | null] | undefined)?.[0]
  return {
    ops: {
      findKey,
      makeKey: (subject: string, wrapped: Uint8Array) => {
        make.run(subject, wrapped)
        return findKey(subject)!
      },
      readBinding,
      writeBinding: (event: string, position: number) => {
        bind.run(event, position)
        return readBinding()!
      },
      destroyKeys: (subjects: readonly string[]) => {
        for (const subject of subjects) {
          destroy.run(subject)
          destroyAside.run(subject)
        }
      },
      keyStates: (subjects: readonly string[]) =>
        subjects.flatMap((subject): ReturnType<Calls['keyStates']> => {
          const key = findKey(subject)
          if (key || aside.get(subject)) return [[subject, 'kept']]
          return key === null ? [[subject, 'erased']] : []
        }),
      keysBetween: (from: string, below: string, most: number) =>
        (between.all(from, below, from, below, most) as (readonly [string])[]).map(([subject]) => subject),
      putKeysAside: () =>
        database.exec(
          'insert into lost_subjects (subject, key) select subject, key from subjects where key is not null; delete from subjects where key is not null',
        ),
      /** Overwrites the rollback journal with zeros, because it still holds the pages with the destroyed key. */
      scrubKeys: () => {
        if (!existsSync(journal)) return
        const file = openSync(journal, 'r+')
        writeSync(file, Buffer.alloc(fstatSync(file).size), 0, undefined, 0)
        fsyncSync(file)
        closeSync(file)
      },
    },
  }
}
