import type { Test } from 'tap'
import { newSigningKey, pemOf, type SigningKeys } from '../../src/ledger/ledger-store.ts'

/** Shared tests of the signing keys of a ledger. `open` opens the same store each time. */
export const signingKeysContract = async (t: Test, open: () => Promise<SigningKeys>): Promise<void> => {
  const [keys, other] = [await open(), await open()]
  const pem = async (read: SigningKeys['read']) => {
    const key = await read()
    return key && pemOf(key)
  }
  t.same([await keys.read(), await keys.next()], [undefined, undefined], 'nothing is created by a read')
  await keys.promote()
  t.equal(await keys.read(), undefined, 'there is no next key')
  const [one, two] = await Promise.all([keys.open(), other.open()])
  const first = pemOf(one)
  t.equal(pemOf(two), first, 'two that open at once have one key')
  const [second, third] = [newSigningKey(), newSigningKey()]
  await keys.prepare(second)
  await other.prepare(third)
  t.same([await pem(keys.read), await pem(keys.next)], [first, pemOf(third)])
  await Promise.all([keys.promote(), other.promote()])
  t.same([await pem(keys.read), await pem(other.next)], [pemOf(third), undefined])
  await keys.promote()
  t.equal(await pem((await open()).open), pemOf(third))
}
