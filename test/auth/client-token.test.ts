import { createHash } from 'node:crypto'
import t from 'tap'
import { digester, secretDigester } from '../../src/auth/client-token.ts'

/** Vector made with other programs. */
const vector = {
  token: 'rct_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAXXXXXX',
  sha256: '8b733ed0e746159ba345ea4f14ae62dc8bc669ee49791af4a1f314ad289e6ae6',
  pepper: {
    kid: 'ab12cd34',
    key: Buffer.from('e19da523fcf90d73767762bef7c9346504a04aca2a6117d77c2ba6b3195afccf', 'hex'),
  },
  digest: 'ab12cd34.vSm9aNM9824CRHi1ZYEUabNptCEOF6jIzNQ03u8qJvE',
  fingerprint: 'ab12cd34.2.xxVzneCrnQuNF_JLqYstCkKAyG8HV9HjAj-4IZmZZrs',
}

await t.test('the digests of token secrets equal those of the published examples', async (t) => {
  const { token, pepper, digest, fingerprint, sha256 } = vector
  t.strictSame(secretDigester(pepper)(token), { digest, fingerprint })
  t.equal(digester(pepper)(token), digest)
  t.equal(createHash('sha256').update(token).digest('hex'), sha256)
})

await t.test('the SHA-256 of a token adds at most 80 bytes to an event', async (t) => {
  const { fingerprint } = secretDigester(vector.pepper)('any secret')
  const added = JSON.stringify({ a: 1, fingerprint }).length - JSON.stringify({ a: 1 }).length
  t.ok(added <= 80, `${added} bytes`)
})
