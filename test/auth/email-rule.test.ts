import t from 'tap'
import { emailRule } from '../../src/auth/identity.ts'
import type { LoginCause } from '../../src/base/login-causes.ts'
import { emailMatcher } from '../../src/config/email.ts'

await t.test('an allowed e-mail address must be verified, and a refusal names the cause', async (t) => {
  const matches = (email: string) => email === 'alice@example.com'
  const email = 'alice@example.com'
  const rows: readonly (readonly [Readonly<Record<string, unknown>>, LoginCause | undefined])[] = [
    [{ email }, 'email_unsaid'],
    [{ email, email_verified: true }, undefined],
    [{ email, email_verified: 'true' }, undefined],
    ...[false, 'false', null, 0, 1, 'False', 'TRUE', 'no', '', [true], {}].map(
      (email_verified) => [{ email, email_verified }, 'email_unverified'] as const,
    ),
    [{ email: 'bob@example.com', email_verified: true }, 'email_unmatched'],
    [{ email: 'bob@example.com', email_verified: false }, 'email_unverified'],
    [{ email: 'bob@example.com' }, 'email_unsaid'],
    ...[[email], '', null, 7, { email }].map((email) => [{ email, email_verified: true }, 'email_absent'] as const),
    [{ email_verified: true }, 'email_absent'],
    [{}, 'email_absent'],
  ]
  for (const [claims, outcome] of rows) t.equal(emailRule(matches, claims), outcome, JSON.stringify(claims))
  t.equal(emailRule(matches, { email }, true), undefined, 'absence counts where the operator says so')
  for (const email_verified of [false, 'false', null, 0])
    t.equal(emailRule(matches, { email, email_verified }, true), 'email_unverified')
})

await t.test('of an e-mail address only the part before the @ is case-sensitive', async (t) => {
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
    ['no address', false],
  ] as const)
    t.equal(matches(email), outcome, email)
  t.equal(emailMatcher(['ada@example\\.com'])('Ada@example.com'), false)
})

await t.test('no pattern matches an e-mail address with a control character', (t) => {
  const matches = emailMatcher(['.*@example[.]com', '(?s).*'])
  for (const sign of ['\0', '\n', '\u007f', '\u009b', '\u202e', '\u2066'])
    t.equal(matches(`a${sign}@example.com`), false, JSON.stringify(sign))
  t.equal(matches('\u00e4@example.com'), true)
  t.end()
})
