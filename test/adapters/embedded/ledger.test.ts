import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openLedgerFile } from '../../../src/adapters/embedded/ledger/ledger-thread.ts'
import { signingKeyFile, withSealedFile } from '../../../src/adapters/embedded/ledger/signing-key-file.ts'
import { withDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { type LedgerStore, replaceSealed } from '../../../src/ledger/ledger-store.ts'
import { ledgerStoreContract } from '../../contracts/ledger-store.ts'
import { signingKeysContract } from '../../contracts/signing-keys.ts'
import { memoryKeys } from '../../ledger/memory-keys.ts'
import { memoryContent, memoryLedgerStore } from '../../ledger/memory-store.ts'
import { newDirectory } from './store.ts'

const inOrder = { jobs: 1 }

await t.test('ledger.sqlite passes the shared tests of every ledger store', inOrder, async (t) => {
  const directory = await newDirectory(t)
  ledgerStoreContract(t, () => openLedgerFile(join(directory, 'ledger.sqlite')))
})

await t.test('a damaged result of a scrub counts as none, and the next scrub replaces it', inOrder, async (t) => {
  const path = join(await newDirectory(t), 'ledger.sqlite')
  const result = { at: '2026-01-01T00:00:00.000Z', through: 5, ok: true }
  for (const damaged of ['no JSON', 'null', '5', '{}']) {
    const store = await openLedgerFile(path)
    await store.writeScrub(result)
    t.strictSame(await store.scrubbed(), result)
    await store.close()
    await withDatabase(path, 'durable', (file) => file.prepare('update scrubs set result = ?').run(damaged))
    const again = await openLedgerFile(path)
    t.equal(await again.scrubbed(), undefined, damaged)
    await again.writeScrub(result)
    t.strictSame(await again.scrubbed(), result)
    await again.close()
  }
})

await t.test('the ledger store in memory passes the same tests', inOrder, async (t) => {
  const content = memoryContent()
  ledgerStoreContract(t, async () => memoryLedgerStore(content))
})

await t.test('the file next to the key keeps a copy that is never older than a seal', async (t) => {
  const directory = await newDirectory(t)
  const path = join(directory, 'signing-key.pem.sealed')
  const content = memoryContent()
  const store = withSealedFile(memoryLedgerStore(content), path, (error) => t.fail(error.message))
  const first = { ledger: 'l', origin: 'o/l', size: 0, root: 'r', text: '', sealedAt: '2026-01-01T00:00:00.000Z' }
  await store.begin(first)
  t.same(await store.sealed(), { stored: first, nextToKey: first })
  const failing = memoryLedgerStore(content, (moment) => {
    if (moment === 'before advance') throw new Error('crash')
  })
  const { text: _, ...intended } = { ...first, size: 5 }
  await t.rejects(withSealedFile(failing, path, () => t.fail()).advance(first, intended), /crash/)
  t.same(await store.sealed(), { stored: first, nextToKey: intended })
})

await t.test('the store has the sealed record if the copy next to the key cannot be written', async (t) => {
  const errors: Error[] = []
  const path = join(await newDirectory(t), 'read-only', 'signing-key.pem.sealed')
  const store = withSealedFile(memoryLedgerStore(), path, (error) => errors.push(error))
  const first = { ledger: 'l', origin: 'o/l', size: 0, root: 'r', text: '', sealedAt: '2026-01-01T00:00:00.000Z' }
  await store.begin(first)
  const sealed = { ...first, size: 5, text: 'five' }
  t.equal(await store.advance(first, sealed), true)
  t.same(await store.sealed(), { stored: sealed })
  t.match(errors, [{ message: path }, { message: path }])
})

await t.test('the signing key file, and keys in memory, pass the shared tests of signing keys', async (t) => {
  const directory = await newDirectory(t)
  await signingKeysContract(t, async () => signingKeyFile(join(directory, 'signing-key.pem')))
  const files = await readdir(directory)
  t.strictSame(files, ['signing-key.pem'], 'the key before is destroyed')
  t.equal((await stat(join(directory, 'signing-key.pem'))).mode & 0o777, 0o600)
  const stored = { key: undefined, next: undefined }
  await signingKeysContract(t, async () => memoryKeys(stored))
})

await t.test('processes that write the sealed record next to one key at once leave a whole record', async (t) => {
  const directory = await newDirectory(t)
  const path = join(directory, 'signing-key.pem.sealed')
  const first = { ledger: 'l', origin: 'o/l', size: 0, root: 'r', text: '', sealedAt: '2026-01-01T00:00:00.000Z' }
  const [one, other] = Array.from({ length: 2 }, () =>
    withSealedFile(memoryLedgerStore(), path, (error) => t.fail(error.message)),
  ) as [LedgerStore, LedgerStore]
  await Promise.all(
    Array.from({ length: 50 }, (_, size) =>
      (size % 2 ? one : other).startOver({ ...first, size, text: 'x'.repeat(9_000) }),
    ),
  )
  t.match((await one.sealed()).nextToKey, { ledger: 'l', text: /^x{9000}$/ })
  t.strictSame(await readdir(directory), ['signing-key.pem.sealed'])
})

await t.test('a sealed record is replaced only while no other process has stored one', async (t) => {
  const first = { ledger: 'l', origin: 'o/l', size: 0, root: 'r', text: '', sealedAt: '2026-01-01T00:00:00.000Z' }
  const [resumed, sealed] = [
    { ...first, size: 5, text: 'five' },
    { ...first, size: 7, text: 'seven' },
  ]
  const store = memoryLedgerStore()
  t.equal(await replaceSealed(store, undefined, resumed), true, 'the first record')
  t.equal(await replaceSealed(store, undefined, sealed), false, 'there is one already')
  t.equal(await replaceSealed(store, first, sealed), false, 'it is another one')
  t.same(await store.sealed(), { stored: resumed })
  t.equal(await replaceSealed(store, resumed, sealed), true)
  t.same(await store.sealed(), { stored: sealed })
})

await t.test('a start removes the files that killed writers of the sealed record left', async (t) => {
  const directory = await newDirectory(t)
  const path = join(directory, 'signing-key.pem.sealed')
  const fail = (error: Error) => t.fail(error.message)
  const first = { ledger: 'l', origin: 'o/l', size: 0, root: 'r', text: '', sealedAt: '2026-01-01T00:00:00.000Z' }
  await withSealedFile(memoryLedgerStore(), path, fail).begin(first)
  const [old, newer, other] = [`${path}.7.00000000.new`, `${path}.8.00000000.new`, `${path}.copy.new`]
  for (const file of [old, newer, other]) await writeFile(file, '')
  for (const file of [old, other]) await utimes(file, 1, 1)
  await utimes(path, 2, 2)
  withSealedFile(memoryLedgerStore(), path, fail)
  t.same(
    (await readdir(directory)).map((name) => join(directory, name)).sort(),
    [path, newer, other].sort(),
    'a newer one may be in work',
  )
})
