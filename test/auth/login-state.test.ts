import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import t from 'tap'
import { loginStates } from '../../src/auth/sealed.ts'

const pepper = randomBytes(32)
const state = {
  method: 'oidc',
  provider: 'main',
  state: 's',
  nonce: 'n',
  codeVerifier: 'v',
  returnTo: '/',
  startedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-01T00:10:00.000Z',
} as const

await t.test('an encrypted login state is accepted only by this deployment and for its purpose', async (t) => {
  const { seal, open } = loginStates(pepper)
  const sealed = seal(state)
  t.strictSame(open(sealed), state)
  t.not(seal(state), sealed, 'two seals of one state differ')
  t.equal(loginStates(randomBytes(32)).open(sealed), undefined, 'another deployment')
  t.equal(open(''), undefined)
  t.equal(open('not a state'), undefined)
  for (let length = 0; length < sealed.length; length++) t.equal(open(sealed.slice(0, length)), undefined, `${length}`)
  const changed = Buffer.from(sealed, 'base64url')
  changed[20]! ^= 1
  t.equal(open(changed.toString('base64url')), undefined, 'one bit changed')
})

await t.test('an encrypted login state of an earlier version without times is ignored', async (t) => {
  const { startedAt: _startedAt, expiresAt: _expiresAt, ...earlier } = state
  const key = Buffer.from(hkdfSync('sha256', pepper, '', 'rollcall login state', 32))
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = [nonce, cipher.update(JSON.stringify(earlier)), cipher.final(), cipher.getAuthTag()]
  t.equal(loginStates(pepper).open(Buffer.concat(body).toString('base64url')), undefined)
})
