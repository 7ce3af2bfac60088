import t from 'tap'
import { leaseContract } from '../../contracts/lease.ts'
import { mongoAddresses } from '../servers.ts'
import { database, restingOn } from './store.ts'

for (const { name, skip, ...at } of await mongoAddresses(t))
  await t.test(`the lease on ${name} belongs to one instance at a time`, { skip }, async (t) =>
    leaseContract(t, (given) => {
      const { clock, rest } = restingOn(given)
      return { open: database('url' in at ? at.url : '', clock).open, rest }
    }),
  )
