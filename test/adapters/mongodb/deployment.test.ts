import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { KeyFile } from '../../../src/adapters/embedded/files/secret-file.ts'
import type { Clock } from '../../../src/base/clock.ts'
import { bindingContract } from '../../contracts/binding.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { ownMongo } from '../servers.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)
const hex = ({ pepper, kek }: KeyFile) => [
  pepper.kid,
  Buffer.from(pepper.key).toString('hex'),
  Buffer.from(kek).toString('hex'),
]
const keyFile = (): KeyFile => ({ pepper: { kid: 'cafe0001', key: randomBytes(32) }, kek: randomBytes(32) })

const instances = async (url: string, count: number, clock?: Clock) => {
  const { open, name } = database(url, clock)
  const opened = await Promise.all(Array.from({ length: count }, () => open()))
  return { opened, name, close: () => Promise.all(opened.map(({ close }) => close())) }
}

await t.test('the record that binds encryption keys to a log passes the shared tests', { skip }, async (t) =>
  bindingContract(t, async () => database(server!.url)),
)

await t.test('instances that start together without a key file agree on one set of keys', { skip }, async (t) => {
  const { opened, close } = await instances(server!.url, 8)
  const keys = (await Promise.all(opened.map(({ deploymentKeys }) => deploymentKeys()))).map(hex)
  for (const each of keys) t.same(each, keys[0])
  t.match(keys[0], [/^[0-9a-f]{8}$/, /^[0-9a-f]{64}$/, /^[0-9a-f]{64}$/])
  t.not(keys[0]![1], keys[0]![2])
  await close()
})

await t.test('an instance with another key file than its deployment is refused', { skip }, async (t) => {
  const { opened, close } = await instances(server!.url, 2)
  const [one, other] = opened.map(({ deploymentKeys }) => deploymentKeys)
  const file = keyFile()
  t.same(hex(await one!(file)), hex(file))
  t.same(hex(await other!(file)), hex(file))
  await t.rejects(other!(keyFile()), { message: /belongs to another deployment/ })
  await t.rejects(other!({ ...file, pepper: { ...file.pepper, kid: 'cafe0002' } }), {
    message: /belongs to another deployment/,
  })
  await t.rejects(other!(), { message: /set keys.file/ })
  await close()
})

await t.test(
  'a migrated deployment starts with its own keys, and an existing one keeps its keys',
  { skip },
  async (t) => {
    const { opened, close } = await instances(server!.url, 1)
    const { deploymentKeys } = opened[0]!
    const moved = keyFile()
    t.same(hex(await deploymentKeys(undefined, moved)), hex(moved))
    t.same(hex(await deploymentKeys()), hex(moved))
    t.same(hex(await deploymentKeys(undefined, keyFile())), hex(moved))
    await close()
  },
)

await t.test('a deployment that began without a key file accepts a file with its own keys', { skip }, async (t) => {
  const { opened, close } = await instances(server!.url, 1)
  const made = await opened[0]!.deploymentKeys()
  t.same(hex(await opened[0]!.deploymentKeys(made)), hex(made))
  await close()
})

await t.test('encryption keys of people cannot be decrypted with another main key', { skip }, async (t) => {
  const { opened, close } = await instances(server!.url, 1)
  await opened[0]!.keys(randomBytes(32))
  await t.rejects(opened[0]!.keys(randomBytes(32)), { message: /encrypted with another main key/ })
  await close()
})

await t.test('an erasure by one instance takes effect in all others within 1 s', { skip }, async (t) => {
  const clock = virtualClock()
  const { opened, close } = await instances(server!.url, 2, clock)
  const kek = randomBytes(32)
  const [one, other] = await Promise.all(opened.map(({ keys }) => keys(kek)))
  const made = await one!.make('ann')
  t.same(await other!.find('ann'), made)
  await one!.destroy('ann')
  await clock.advance(999)
  t.same(await other!.find('ann'), made, 'until then it knows what it was told')
  await clock.advance(1)
  t.equal(await other!.find('ann'), 'erased')
  t.equal(await other!.make('ann'), 'erased')
  await close()
})
