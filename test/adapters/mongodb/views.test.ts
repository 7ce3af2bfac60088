import t from 'tap'
import { viewsContract } from '../../contracts/views.ts'
import { mongoAddresses } from '../servers.ts'
import { database } from './store.ts'

for (const { name, skip, ...at } of await mongoAddresses(t))
  await t.test(`the read models on ${name} pass the shared tests of all read-model stores`, { skip }, async (t) =>
    viewsContract(t, async (_, clock) => database('url' in at ? at.url : '', clock).views),
  )
