import t from 'tap'
import { snapshotsContract } from '../../contracts/snapshots.ts'
import { ownMongo } from '../servers.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)

await t.test('the memory snapshots in MongoDB pass the shared tests of every snapshot store', { skip }, async (t) => {
  const { open } = database(server!.url)
  snapshotsContract(t, async () => {
    const { snapshots, close } = await open()
    t.teardown(close)
    return snapshots
  })
})
