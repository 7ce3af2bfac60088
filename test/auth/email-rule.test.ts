import t from 'tap'
import { emailMatcher } from '../../src/config/email.ts'
import { emailRule } from '../../src/auth/identity.ts'

await t.test('the e-mail rule wants a matching text that the provider calls verified', async (t) => {
  const matches = (email: string) => email === 'alice@example.com'
  const rows: readonly (readonly [object, boolean])[] = [
    [{ email: 'alice@example.com' }, false],
    [{ email: 'alice@example.com', email_verified: true }, true],
    [{ email: 'alice@example.com', email_verified: 'true' }, true],
    [{ email: 'alice@example.com', email_verified: false }, false],
    [{ email: 'alice@example.com', email_verified: 'false' }, false],
    ...[null, 0, 1, 'False', 'TRUE', 'no', '', [true], {}].map(
      (email_verified) => [{ email: 'alice@example.com', email_verified }, false] as const,
    ),
    [{ email: 'bob@example.com', email_verified: true }, false],
    [{ email: ['alice@example.com'] }, false],
    [{ email_verified: true }, false],
    [{}, false],
  ]
  for (const [claims, outcome] of rows) t.equal(emailRule(matches, claims), outcome, JSON.stringify(claims))
  t.equal(emailRule(matches, { email: 'alice@example.com' }, true), true, 'absence counts where the operator says so')
  for (const email_verified of [false, 'false', null, 0])
    t.equal(emailRule(matches, { email: 'alice@example.com', email_verified }, true), false)
})

await t.test('in the domain of an address case means nothing, in front of it it does', async (t) => {
  const matches = emailMatcher(['.*@example\\.com', '.*@Other\\.example'])
  for (const [email, outcome] of [
    ['ada@example.com', true],
    ['ada@Example.COM', true],
    ['"a@b"@EXAMPLE.com', true],
    ['ada@other.example', false],
    ['ada@Other.example', true],
    ['ada@example.com.evil', false],
    ['ada@EXAMPLE.COM@evil.example', false],
    ['EXAMPLE.COM', false],
  ] as const)
    t.equal(matches(email), outcome, email)
  t.equal(emailMatcher(['ada@example\\.com'])('Ada@example.com'), false)
})
