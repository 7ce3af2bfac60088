import t from 'tap'
import { readModelsOf } from '../../../src/app/stores/read-models.ts'
import { checkpointAt } from '../../contracts/views.ts'
import { countedMongo } from '../../stand-ins/counted-mongo.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownMongo } from '../servers.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)
const models = readModelsOf(Buffer.alloc(32))
const [one] = models

/** Views whose checkpoints are at position 1, on a server whose commands are counted. */
const begun = async (t: Parameters<typeof countedMongo>[0], swallows?: (command: object) => boolean) => {
  const counted = await countedMongo(t, server!.url, { ...(swallows && { swallows }) })
  const clock = virtualClock()
  const { open } = database(counted.url, clock)
  const { views, close } = await open()
  t.teardown(close)
  for (const model of models) await views.mark(model, undefined, checkpointAt(1n))
  counted.taken()
  return { ...counted, clock, open, views }
}

await t.test('the checkpoints of all views are read, and moved, by one command', { skip }, async (t) => {
  const { views, taken } = await begun(t)
  const found = await Promise.all(models.map(views.checkpoint))
  t.ok(found.every((checkpoint) => checkpoint?.position === 1n))
  t.strictSame(taken(), [{ name: 'find', on: 'views' }])
  const moved = await Promise.all(models.map((model) => views.mark(model, 1n, checkpointAt(2n))))
  t.ok(moved.every(Boolean))
  t.strictSame(taken(), [{ name: 'update', on: 'views' }])
  t.equal((await views.checkpoint(one!))?.position, 2n)
})

await t.test(
  'of the checkpoints that are moved together, those of another writer are excluded',
  { skip },
  async (t) => {
    const { views, open } = await begun(t)
    const other = await open()
    t.teardown(other.close)
    t.ok(await other.views.mark(one!, 1n, checkpointAt(3n)))
    const moved = await Promise.all(models.map((model) => views.mark(model, 1n, checkpointAt(2n))))
    t.strictSame(
      moved,
      models.map((model) => model !== one),
    )
    t.equal((await views.checkpoint(one!))?.position, 3n)
    const none = await Promise.all(models.map((model) => views.mark(model, 1n, checkpointAt(4n))))
    t.strictSame(
      none,
      models.map(() => false),
    )
  },
)

await t.test(
  'a view update whose answer is lost fails within 1.5 s, and its repetition is right',
  { skip },
  async (t) => {
    let lost = ''
    const { views, clock, taken } = await begun(t, (command) => Object.keys(command)[0] === lost)
    const outcome = async (work: Promise<unknown>, sent: string) => {
      const seen: unknown[] = []
      void work.then(
        (answer) => seen.push(answer),
        (error: { readonly reason?: string }) => seen.push(error.reason),
      )
      await eventually(() => taken().some(({ name }) => name === sent), `a command ${sent}`)
      await clock.advance(1_499)
      t.strictSame(seen, [], sent)
      await clock.advance(1)
      t.strictSame(seen, ['backend_unavailable'], sent)
      lost = ''
    }
    const row = { key: 'a', revision: 0n, position: 2n, changes: 1n, doc: { name: 'a' } }
    lost = 'insert'
    await outcome(views.put(one!, [row]), 'insert')
    await views.put(one!, [row])
    lost = 'update'
    await outcome(views.mark(one!, 1n, checkpointAt(2n)), 'update')
    await eventually(async () => (await views.checkpoint(one!))?.position === 2n, 'the server has carried it out')
    t.equal(await views.mark(one!, 1n, checkpointAt(2n)), false, 'so a writer goes on from there')
    t.ok(await views.mark(one!, 2n, checkpointAt(3n)))
    t.strictSame(await views.get(one!, 'a'), row)
  },
)
