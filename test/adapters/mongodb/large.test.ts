import t from 'tap'
import { isRefusal } from '../../../src/base/errors.ts'
import { eventually } from '../../wait.ts'
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
    `on ${name} a document over 16 MiB is refused as too large, alone or among others`,
    { skip },
    async (t) => {
      const views = await database('url' in at ? at.url : '').views.open()
      t.teardown(views.close)
      /**
       * While this process serializes the document it processes no answers, and the driver may consider the server lost.
       * Then the rows are put again, as the writer of the read models does.
       */
      const put = (...rows: readonly ReturnType<typeof row>[]) =>
        eventually(async () => {
          const outcome: unknown = await views.put(view, rows).then(
            () => 'written',
            (error: unknown) => error,
          )
          return !isRefusal(outcome, 'backend_unavailable') && { outcome }
        }, 'an answer of the server')
      const refused = async (...rows: readonly ReturnType<typeof row>[]) => {
        const { outcome } = await put(...rows)
        t.ok(isRefusal(outcome, 'body_too_large'), String(outcome))
      }
      await refused(row('a', 17))
      await refused(row('b', 1), row('c', 17))
      await refused(row('d', 40))
      t.equal((await put(row('b', 1), row('e', 14))).outcome, 'written')
      t.equal((await views.get(view, 'b'))?.key, 'b')
      t.equal((await views.get(view, 'a'))?.key, undefined)
    },
  )
