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

/** Sealer of these keys under a log that has the given erasures. `lost` has the reported subjects. */
const underErasures = (keys: ReturnType<typeof memoryKeys>['keys'], erased = new Set<string>()) => {
  const lost: string[] = []
  const isErased = async (subject: string) => erased.has(subject)
  return { ...sealer(keys, isErased, (subject) => lost.push(subject)), erased, lost }
}

await t.test('an encrypted text without its key is erased by an erasure in the log, else lost', async (t) => {
  const { all, keys } = memoryKeys()
  const { seal, open, lost } = underErasures(keys, new Set(['bob', 'dan', 'fay']))
  const of = Object.fromEntries(
    await Promise.all(['ann', 'bob', 'cat', 'dan', 'eve', 'fay'].map(async (name) => [name, await seal(name, name)])),
  ) as Readonly<Record<string, string>>
  await keys.destroy('bob')
  await keys.destroy('cat')
  all.delete('dan')
  all.delete('eve')
  all.set('fay', randomBytes(32))
  t.same(await open(of['ann']!), { text: 'ann' })
  for (const name of ['bob', 'dan', 'fay']) t.same(await open(of[name]!), { erased: true }, name)
  for (const name of ['cat', 'eve']) t.same(await open(of[name]!), { lost: true }, name)
  t.same(lost, ['cat', 'eve'])
  t.same(await open('plain'), { text: 'plain' })
})

await t.test('texts of two people whose keys are exchanged are lost', async (t) => {
  const { all, keys } = memoryKeys()
  const { seal, open, lost } = underErasures(keys)
  const [ann, bob] = [await seal('ann', 'a@x'), await seal('bob', 'b@x')]
  const [first, second] = [all.get('ann')!, all.get('bob')!]
  all.set('ann', second).set('bob', first)
  t.same([await open(ann), await open(bob)], [{ lost: true }, { lost: true }])
  t.same(lost, ['ann', 'bob'])
})

await t.test('a lost text stays lost if its owner gets a new key', async (t) => {
  const { all, keys } = memoryKeys()
  const { seal, open, lost, erased } = underErasures(keys)
  const before = await seal('ann', 'a@x')
  all.delete('ann')
  const after = await seal('ann', 'a@y')
  t.same([await open(before), await open(after)], [{ lost: true }, { text: 'a@y' }])
  t.same(lost, ['ann'])
  await keys.destroy('ann')
  erased.add('ann')
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
