import t from 'tap'
import { namespace } from '../../src/commands/namespace.ts'
import { given } from '../given.ts'
import { namespaceCreated as created } from '../samples.ts'

const history = given(namespace)
const deleted = { type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: false } } as const
const kept = { type: 'NamespaceCreated', data: { ...created.data, protected: true } } as const
const registration = { key: 'ns', flag: 'f', reservation: 'c1', reservedAt: '2026-01-01T00:00:00.000Z' }
const registered = { type: 'FlagRegistered', data: registration } as const
const unregistered = { type: 'FlagUnregistered', data: { key: 'ns', flag: 'f', reservation: 'c1' } } as const
const missing = 'namespace "ns" not found'
const none: ReadonlySet<string> = new Set()

await t.test('a second namespace with the same key is refused', async () => {
  history().when('CreateNamespace', created.data).then(created)
  history(created).when('CreateNamespace', created.data).refused('not_unique', 'namespace "ns" is not unique')
  const second = { ...created.data, incarnation: 'life-2' }
  history(created, deleted).when('CreateNamespace', second).then({ type: 'NamespaceCreated', data: second })
})

await t.test('an update of a namespace records the old and the new values', async () => {
  const updated = { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'Name', to: 'New' } } } as const
  history(created).when('UpdateNamespace', { key: 'ns', name: 'New', description: '' }).then(updated)
  history(created, updated).when('UpdateNamespace', { key: 'ns', name: 'New', description: '' }).then()
  history(created)
    .when('UpdateNamespace', { key: 'ns', name: 'Name', description: 'd' })
    .then({ type: 'NamespaceUpdated', data: { key: 'ns', description: { from: '', to: 'd' } } })
  history().when('UpdateNamespace', { key: 'ns', name: 'New', description: '' }).refused('not_found', missing)
})

await t.test('a namespace with flags is deleted only by force', async () => {
  const ask = { key: 'ns', force: false, stale: none }
  const forced = { type: 'NamespaceDeleted', data: { ...deleted.data, force: true } } as const
  history(created).when('DeleteNamespace', ask).then(deleted)
  history(created, registered)
    .when('DeleteNamespace', ask)
    .refused('not_empty', 'namespace "ns" cannot be deleted; flags must be deleted first')
  history(created, registered)
    .when('DeleteNamespace', { ...ask, force: true })
    .then(forced)
  history(created, registered, unregistered).when('DeleteNamespace', ask).then(deleted)
  history(created, registered)
    .when('DeleteNamespace', { ...ask, stale: new Set(['c1']) })
    .then(deleted)
  history().when('DeleteNamespace', ask).refused('not_found', missing)
  history(created, deleted)
    .when('DeleteNamespace', { ...ask, force: true })
    .refused('not_found', missing)
})

await t.test('deleting a protected namespace is refused', async () => {
  for (const force of [false, true])
    history(kept)
      .when('DeleteNamespace', { key: 'ns', force, stale: none })
      .refused('protected', 'namespace "ns" is protected')
})

await t.test('a flag is registered once for each reservation, in an existing namespace only', async () => {
  history(created).when('RegisterFlag', registration).then(registered)
  history(created, registered).when('RegisterFlag', registration).then()
  history().when('RegisterFlag', registration).refused('not_found', missing)
})

await t.test('a reservation of a flag key is released once', async () => {
  const ask = { key: 'ns', reservation: 'c1' }
  history(created, registered).when('UnregisterFlag', ask).then(unregistered)
  history(created).when('UnregisterFlag', ask).then()
  history(created, registered, deleted, created).when('UnregisterFlag', ask).then()
})

await t.test('a namespace that is created again has a higher generation and no reservations', async (t) => {
  t.equal(history().state.generation, 0)
  t.equal(history(created, registered).state.generation, 1)
  t.equal(history(created, registered, deleted).state.generation, 1)
  const again = history(created, registered, deleted, created).state
  t.equal(again.generation, 2)
  t.equal(again.reservations.size, 0)
})
