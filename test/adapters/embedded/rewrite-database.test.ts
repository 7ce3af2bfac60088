import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { rewriteDatabase } from '../../../src/adapters/embedded/backup/copy-database.ts'
import { eventsSchema } from '../../../src/adapters/embedded/schema.ts'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { newDirectory } from './store.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const EVENTS = 20_000

await t.test('a database is rewritten whole although garbage is collected between its rows', async (t) => {
  const directory = await newDirectory(t)
  const [from, to] = [join(directory, 'events.sqlite'), join(directory, 'copy', 'events.sqlite')]
  const source = await openDatabase(from, 'durable')
  source.exec(`${eventsSchema}
    insert into events with recursive n (i) as (select 1 union all select i + 1 from n where i < ${EVENTS})
    select i, 's-' || i, 0, 'id-' || i, 'type', 'time', '{}', '{}' from n`)
  source.close()
  await rewriteDatabase(from, to, collect)
  const copy = await openDatabase(to, 'read')
  t.match(copy.prepare('select count(*) as events from events').get(), { events: EVENTS })
  copy.close()
})
