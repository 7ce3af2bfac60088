import { randomBytes } from 'node:crypto'
import t from 'tap'
import { type Keys, sealer } from '../../src/events/personal.ts'

/** Keys in memory that can be lost. */
const memoryKeys = () => {
  const all = new Map<string, Uint8Array | 'erased'>()
  const keys: Pick<Keys, 'make' | 'find' | 'destroy'> = {
    make: async (subject) => {
      const key = all.get(subject) ?? randomBytes(32)
      all.set(subject, key)
      return key
    },
    find: async (subject) => all.get(subject),
    destroy: async (subject) => void all.set(subject, 'erased'),
  }
  return { all, keys }
}

await t.test('an encrypted text is erased if its key was destroyed, and lost if the key is missing', async (t) => {
  const { all, keys } = memoryKeys()
  const lost: string[] = []
  const { seal, open } = sealer(keys, (subject) => lost.push(subject))
  const [ann, bob, eve] = [await seal('ann', 'a@x'), await seal('bob', 'b@x'), await seal('eve', 'e@x')]
  await keys.destroy('bob')
  all.delete('eve')
  t.same([await open(ann), await open(bob), await open(eve)], [{ text: 'a@x' }, { erased: true }, { lost: true }])
  t.same(lost, ['eve'])
  t.same(await open('plain'), { text: 'plain' })
})

await t.test('a lost text stays lost if its owner gets a new key', async (t) => {
  const { all, keys } = memoryKeys()
  const lost: string[] = []
  const { seal, open } = sealer(keys, (subject) => lost.push(subject))
  const before = await seal('ann', 'a@x')
  all.delete('ann')
  const after = await seal('ann', 'a@y')
  t.same([await open(before), await open(after)], [{ lost: true }, { text: 'a@y' }])
  t.same(lost, ['ann'])
  await keys.destroy('ann')
  t.same([await open(before), await open(after)], [{ erased: true }, { erased: true }])
})

await t.test('an encrypted text that was modified cannot be opened', async (t) => {
  const { keys } = memoryKeys()
  const { seal, open } = sealer(keys)
  const sealed = await seal('ann', 'a@x')
  const [head, payload = ''] = sealed.split(/\.(?=[^.]*$)/)
  for (const [n] of Buffer.from(payload, 'base64url').entries()) {
    const bytes = Buffer.from(payload, 'base64url')
    bytes[n]! ^= 1
    t.same(await open(`${head}.${bytes.toString('base64url')}`), { lost: true }, `byte ${n}`)
  }
  t.same(await open(sealed.slice(0, -8)), { lost: true })
  t.same(await open(sealed.split('.').slice(0, 3).join('.')), { lost: true })
})
