import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { Snapshots } from '../../src/projections/views.ts'

async function* parts(...given: readonly Uint8Array[]) {
  yield* given
}
async function* torn(...given: readonly Uint8Array[]) {
  yield* given
  throw new Error('torn')
}

/** Contract of Snapshots. `open` reopens one store. */
export const snapshotsContract = (t: Test, open: () => Promise<Snapshots>): void => {
  void t.test('returns the newest bytes as written, also after a restart', async (t) => {
    const snapshots = await open()
    t.equal(await snapshots.read(), undefined)
    const large = randomBytes(9 * 1_048_576 + 7)
    await snapshots.write(parts(Buffer.from('a'), large.subarray(0, 5_000_000), large.subarray(5_000_000), large))
    const [read, expected] = [await (await open()).read(), Buffer.concat([Buffer.from('a'), large, large])]
    t.ok(read && expected.equals(read))
    await snapshots.write(parts(Buffer.from('ne'), Buffer.from('w')))
    t.same(Buffer.from((await snapshots.read())!), Buffer.from('new'))
    await snapshots.write(parts())
    t.equal((await snapshots.read())?.length ?? 0, 0)
  })

  void t.test('an interrupted write keeps the previous snapshot, and a removed one is gone', async (t) => {
    const snapshots = await open()
    await snapshots.write(parts(Buffer.from('before')))
    await t.rejects(snapshots.write(torn(randomBytes(5_000_000))), /torn/)
    t.same(Buffer.from((await snapshots.read())!), Buffer.from('before'))
    await snapshots.remove()
    t.equal(await snapshots.read(), undefined)
    await snapshots.remove()
  })
}
