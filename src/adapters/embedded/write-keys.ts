import type { Calls } from './protocol.ts'
import { subjectsSchema } from './schema.ts'
import { type Database, rowsOf } from './sqlite.ts'

/** The writer's half of the keys of subjects. Each call is a transaction of its own. */
export const keysWriter = (database: Database) => {
  database.exec(subjectsSchema)
  const find = rowsOf(database, 'select key from subjects where subject = ?')
  const make = database.prepare('insert or ignore into subjects (subject, key) values (?, ?)')
  const destroy = database.prepare('insert into subjects (subject) values (?) on conflict (subject) do update set key = null')
  const overwrite = database.prepare('update subjects set filler = filler + 1 where subject = ?')

  const findKey: Calls['findKey'] = (subject) => (find.get(subject) as [Uint8Array | null] | undefined)?.[0]
  return {
    ops: {
      findKey,
      makeKey: (subject: string, wrapped: Uint8Array) => {
        make.run(subject, wrapped)
        return findKey(subject)!
      },
      destroyKey: (subject: string) => {
        destroy.run(subject)
        // The rollback journal still has the page as it was with the key: the same change once more puts the page without it in its place.
        overwrite.run(subject)
      },
    },
  }
}
