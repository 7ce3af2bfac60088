import t from 'tap'
import { ledgerStoreContract } from '../../contracts/ledger-store.ts'
import { signingKeysContract } from '../../contracts/signing-keys.ts'
import { ownMongo } from '../servers.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)

await t.test('the ledger in MongoDB passes the shared tests of every ledger store', { skip }, async (t) => {
  const { open } = database(server!.url)
  ledgerStoreContract(t, async () => {
    const { ledger, close } = await open()
    return { ...ledger, close }
  })
})

await t.test('the signing keys in MongoDB pass the shared tests of signing keys', { skip }, async (t) => {
  const { open } = database(server!.url)
  await signingKeysContract(t, async () => {
    const { signingKeys, close } = await open()
    t.teardown(close)
    return signingKeys
  })
})
