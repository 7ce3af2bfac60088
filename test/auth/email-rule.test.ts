import t from 'tap'
import { emailRule } from '../../src/auth/identity.ts'

await t.test('the e-mail rule wants a matching text that the provider does not call unverified', async (t) => {
  const matches = (email: string) => email === 'alice@example.com'
  const rows: readonly [object, boolean][] = [
    [{ email: 'alice@example.com' }, true],
    [{ email: 'alice@example.com', email_verified: true }, true],
    [{ email: 'alice@example.com', email_verified: 'true' }, true],
    [{ email: 'alice@example.com', email_verified: false }, false],
    [{ email: 'alice@example.com', email_verified: 'false' }, false],
    [{ email: 'bob@example.com', email_verified: true }, false],
    [{ email: ['alice@example.com'] }, false],
    [{ email_verified: true }, false],
    [{}, false],
  ]
  for (const [claims, outcome] of rows) t.equal(emailRule(matches, claims), outcome, JSON.stringify(claims))
})
