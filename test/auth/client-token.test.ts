import { createHash } from 'node:crypto'
import t from 'tap'
import { digester, mint, plausible, type TokenKind, tokenSecrets } from '../../src/auth/client-token.ts'

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
  t.strictSame(tokenSecrets(pepper).digests(token), { digest, fingerprint })
  t.equal(digester(pepper)(token), digest)
  t.equal(createHash('sha256').update(token).digest('hex'), sha256)
})

await t.test('the SHA-256 of a token adds at most 80 bytes to an event', async (t) => {
  const { fingerprint } = tokenSecrets(vector.pepper).digests('any secret')
  const added = JSON.stringify({ a: 1, fingerprint }).length - JSON.stringify({ a: 1 }).length
  t.ok(added <= 80, `${added} bytes`)
})

await t.test('the secret of a command is the same for each attempt, and of the form of a random one', async (t) => {
  const id = '5f0f41a2-6f4a-4f6e-9d4e-3c8f0f6f9f10'
  const [one, other] = [tokenSecrets(vector.pepper), tokenSecrets({ ...vector.pepper })]
  const secret = one.ofCommand('token', id)
  t.equal(other.ofCommand('token', id), secret, 'on each instance with this pepper')
  t.match(secret, /^rct_[0-9A-Za-z]{49}$/)
  t.ok(plausible(secret))
  // Derived with openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:… -kdfopt info:… HKDF.
  t.equal(secret, 'rct_lDdlPtcw044GAd6X5EZevd3LAW9UcTbEgGbf3UGcBjP1RHsER')
})

await t.test('the secrets of other commands, kinds and peppers have nothing in common', async (t) => {
  const { ofCommand } = tokenSecrets(vector.pepper)
  const kinds: readonly TokenKind[] = ['token', 'publishable', 'oidc', 'codehost', 'orchestrator', 'bootstrap']
  const peppers = [vector.pepper, { kid: 'ab12cd34', key: createHash('sha256').update('another').digest() }]
  const secrets = [
    ...kinds.map((kind) => ofCommand(kind, 'a')),
    ...peppers.map((pepper) => tokenSecrets(pepper).ofCommand('token', 'b')),
    ofCommand('token', 'c'),
    mint('token'),
  ]
  t.equal(new Set(secrets.map((secret) => secret.slice(4))).size, secrets.length)
  t.strictSame(
    kinds.map((kind) => ofCommand(kind, 'a').slice(0, 4)),
    kinds.map((kind) => mint(kind).slice(0, 4)),
  )
})
