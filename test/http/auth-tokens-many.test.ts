import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { tokens } from '../../src/projections/tokens.ts'
import { startService } from '../start.ts'

type Page = { readonly totalCount: number; readonly nextPageToken: string; readonly authentications: readonly object[] }

await t.test('tokens are counted up to 10,000, and a larger number is marked as inexact', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const list = async (search = '') => (await service.request<Page>('GET', `/auth/v1/tokens?${search}`)).json
  const { totalCount: before, ...rest } = await list()
  t.notOk('totalCountExact' in rest, 'left out while it is')
  const database = await openDatabase(join(service.directory, 'data', 'views.sqlite'), 'rebuildable')
  t.teardown(() => database.close())
  const table = `${tokens.name}_${tokens.version}`
  const columns = '_revision, _position, _changes, _doc, createdAt, method'
  const more = (from: number, to: number) =>
    database.exec(`insert into ${table} (_key, ${columns})
      with recursive counted(n) as (select ${from} union all select n + 1 from counted where n < ${to})
      select 'k' || n, ${columns} from counted, (select ${columns} from ${table} where _key not like 'k%' limit 1)`)
  more(1, 10_000 - before)
  t.match(await list('limit=100'), { totalCount: 10_000, authentications: { length: 100 } })
  t.notOk('totalCountExact' in (await list()), 'exactly ten thousand')
  more(10_001, 10_050)
  const page = await list('limit=2')
  t.match(page, { totalCount: 10_000, totalCountExact: false })
  t.match(await list(`limit=2&pageToken=${page.nextPageToken}`), { totalCount: 10_000, totalCountExact: false })
  t.match(await list('status=DELETED'), { totalCount: 0, totalCountExact: undefined })
})
