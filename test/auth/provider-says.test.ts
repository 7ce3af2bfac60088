import fc from 'fast-check'
import t from 'tap'
import { providerSays } from '../../src/auth/safe-cause.ts'

await t.test("of a provider's error description only plain words are logged", (t) => {
  const secrets = ['canary secret of ours', 'rollcall', 'x']
  const rows: readonly (readonly [said: unknown, told: string | undefined])[] = [
    ['Invalid client or Invalid client credentials', 'Invalid client or Invalid client credentials'],
    ['Parameter client_assertion_type is missing', 'Parameter client_assertion_type is missing'],
    ["redirect_uri doesn't match.", "redirect_uri doesn't match."],
    [
      'AADSTS7000215: Invalid client secret provided. Trace ID: 0f5c-aa',
      '… Invalid client secret provided. Trace ID: …',
    ],
    ['see https://idp.example/help or mail ops@idp.example', 'see … or mail …'],
    ['host idp.example at 10.0.0.1:443 said no', 'host … at … said no'],
    ['code Zm9vYmFyYmF6cXV4Zm9vYmFy is used', 'code … is used'],
    ['id qUzKvWbGhTnLpXcD is unknown', 'id … is unknown'],
    ['the client rollcall has canary secret of ours', 'the client … has …'],
    ['the secret "canary secret of ours" x', 'the secret … x'],
    ['line one\r\nline two\u2028three\u0000four\u001b[31m', 'line one line two three four …'],
    ['Ungültige Anmeldeinformationen für den Client', 'Ungültige Anmeldeinformationen für den Client'],
    ['クライアント が 無効', 'クライアント が 無効'],
    ['\u202eevil\u202c text', 'evil text'],
    ['<b>bold</b> {"a":1}', undefined],
    ['4711', undefined],
    ['', undefined],
    [' \n ', undefined],
    [['no', 'text'], undefined],
    [{ a: 'b' }, undefined],
    [null, undefined],
    ['word '.repeat(100), 'word '.repeat(40).slice(0, 200).trimEnd()],
  ]
  for (const [n, [said, told]] of rows.entries()) t.equal(providerSays(said, secrets)?.trimEnd(), told, `row ${n}`)
  t.end()
})

await t.test('numbers, addresses and secrets are removed from every error description', (t) => {
  const secret = fc.string({ minLength: 4, maxLength: 40 })
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), secret)), secret, (parts, known) => {
      const told = providerSays([...parts, known].join(' '), [known]) ?? ''
      t.ok([...told].length <= 200)
      t.notMatch(told, /[\p{N}\p{Cc}\p{Cf}\p{Cs}@:/\\<>{}]{2,}|[\p{Nd}@\p{Cc}\p{Cf}]/u)
      t.notOk(/\p{L}/u.test(known) && told.includes(known))
    }),
  )
  t.end()
})
