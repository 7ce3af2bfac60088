import t from 'tap'
import { leaseContract } from '../../contracts/lease.ts'
import { mongoAddresses } from '../servers.ts'
import { database } from './store.ts'

for (const { name, skip, ...at } of await mongoAddresses(t))
  await t.test(`Lease on ${name}`, { skip }, async (t) => leaseContract(t, () => database('url' in at ? at.url : '')))
