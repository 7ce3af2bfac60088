import t from 'tap'
import { keysContract } from '../../contracts/keys.ts'
import { mongoAddresses } from '../servers.ts'
import { database } from './store.ts'

for (const { name, skip, ...at } of await mongoAddresses(t))
  await t.test(
    `the store of encryption keys on ${name} passes the shared tests of all such stores`,
    { skip },
    async (t) => keysContract(t, async () => database('url' in at ? at.url : '').keys),
  )
