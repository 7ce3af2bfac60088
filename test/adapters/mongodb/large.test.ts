import t from 'tap'
import { isRefusal } from '../../../src/errors.ts'
import { mongoAddresses } from '../servers.ts'
import { database } from './store.ts'

const MIB = 1_048_576
const view = { name: 'large', version: 1, fields: [], indexes: [] }
const row = (key: string, mib: number) => ({
  key,
  revision: 0n,
  position: 1n,
  changes: 1n,
  doc: { parts: Array.from({ length: mib }, () => 'x'.repeat(MIB)) },
})

for (const { name, skip, ...at } of await mongoAddresses(t))
  await t.test(
    `on ${name} a document beyond 16 MiB is refused as what it is, alone or among others`,
    { skip },
    async (t) => {
      const views = await database('url' in at ? at.url : '').views.open()
      t.teardown(views.close)
      const refused = async (...rows: readonly ReturnType<typeof row>[]) => {
        const error: unknown = await views.put(view, rows).catch((error: unknown) => error)
        t.ok(isRefusal(error, 'body_too_large'), String(error))
      }
      await refused(row('a', 17))
      await refused(row('b', 1), row('c', 17))
      await refused(row('d', 40))
      await views.put(view, [row('b', 1), row('e', 14)])
      t.equal((await views.get(view, 'b'))?.key, 'b')
      t.equal((await views.get(view, 'a'))?.key, undefined)
    },
  )
