import { randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { Keys } from '../../src/events/personal.ts'

/** Key store that can be reopened. */
export type KeysStore = { readonly open: () => Promise<Keys> }

const hex = (key: Uint8Array | 'erased' | undefined) =>
  key instanceof Uint8Array ? Buffer.from(key).toString('hex') : key

/** Contract of Keys. */
export const keysContract = (t: Test, make: (t: Test) => Promise<KeysStore>): void => {
  void t.test('creates 32 random bytes once and finds them again, also after a restart', async (t) => {
    const store = await make(t)
    const [ann, bob] = [randomUUID(), randomUUID()]
    let keys = await store.open()
    t.equal(await keys.find(ann), undefined)
    const made = await keys.make(ann)
    t.equal((made as Uint8Array).length, 32)
    t.equal(hex(await keys.make(ann)), hex(made))
    t.not(hex(await keys.make(bob)), hex(made))
    await keys.close()
    keys = await store.open()
    t.equal(hex(await keys.find(ann)), hex(made))
    t.equal(hex(await keys.make(ann)), hex(made))
    await keys.close()
  })

  void t.test('concurrent creations of a key return the same key', async (t) => {
    const keys = await (await make(t)).open()
    const subject = randomUUID()
    const made = await Promise.all(Array.from({ length: 16 }, () => keys.make(subject)))
    t.equal(new Set(made.map(hex)).size, 1)
    await keys.close()
  })

  void t.test('keeps a given key if there was none, else changes nothing', async (t) => {
    const store = await make(t)
    const [ann, bob, gone] = [randomUUID(), randomUUID(), randomUUID()]
    const given = randomBytes(32)
    let keys = await store.open()
    t.equal(hex(await keys.make(ann, given)), hex(given))
    const own = await keys.make(bob)
    t.equal(hex(await keys.make(bob, given)), hex(own))
    await keys.destroy(gone)
    t.equal(await keys.make(gone, given), 'erased')
    await keys.close()
    keys = await store.open()
    t.same(
      [hex(await keys.find(ann)), hex(await keys.find(bob)), await keys.find(gone)],
      [hex(given), hex(own), 'erased'],
    )
    await keys.close()
  })

  void t.test('a destroyed key is erased permanently, also after a restart', async (t) => {
    const store = await make(t)
    const [ann, bob, never] = [randomUUID(), randomUUID(), randomUUID()]
    let keys = await store.open()
    await keys.make(ann)
    const kept = await keys.make(bob)
    const [, , late] = await Promise.all([keys.destroy(ann), keys.destroy(ann), keys.find(ann)])
    t.ok(late !== undefined)
    await keys.destroy(never)
    for (const opened of ['before', 'after']) {
      t.equal(await keys.find(ann), 'erased', opened)
      t.equal(await keys.make(ann), 'erased', opened)
      t.equal(await keys.make(never), 'erased', `a subject that never had a key, ${opened}`)
      t.equal(hex(await keys.find(bob)), hex(kept), opened)
      await keys.close()
      keys = await store.open()
    }
    await keys.close()
  })

  void t.test('states and ranges of keys are those of the store, and a forgotten key is erased here', async (t) => {
    const store = await make(t)
    const [ann, bob, never] = [randomUUID(), randomUUID(), randomUUID()]
    const keys = await store.open()
    await keys.make(ann)
    await keys.make(bob)
    await keys.destroy(ann, never)
    t.strictSame(
      await keys.states([ann, bob, never, randomUUID()]),
      new Map([
        [ann, 'erased'],
        [bob, 'kept'],
        [never, 'erased'],
      ]),
    )
    t.strictSame(await keys.states([]), new Map())
    const days = ['2020-01-03', '2020-01-01', '2020-01-02'].map((day) => `${bob}-${day}`)
    for (const day of days) await keys.make(day)
    const [third, first, second] = days
    t.strictSame(await keys.between(`${bob}-`, third!, 10), [first, second])
    t.strictSame(await keys.between(`${bob}-`, third!, 1), [first])
    await keys.destroy(first!)
    t.strictSame(await keys.between(`${bob}-`, third!, 10), [second])
    await keys.forget([bob])
    t.strictSame([await keys.find(bob), await keys.make(bob)], ['erased', 'erased'])
    await keys.close()
    const again = await store.open()
    t.not(await again.find(bob), 'erased', 'only the cache of one process forgets')
    await again.close()
  })
}
