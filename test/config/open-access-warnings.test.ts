import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { isConfigError } from '../../src/config/problem.ts'
import { authorityFile } from '../authority.ts'

const A = 'authentication'
const M = `${A}.methods`
type Flags = Readonly<Record<string, string>>
const told = (flags: Flags) => loadConfig({ env: {}, flags })
const provider = JSON.stringify({ issuer_url: 'https://id.example.com', client_id: 'a', client_secret: 'b' })
const https = { 'server.public_url': 'https://x.example.com' }
const oidc = {
  ...https,
  [`${M}.oidc.enabled`]: 'true',
  [`${M}.oidc.providers`]: `{"google": ${provider}, "acme-2": ${provider}}`,
}
const codehost = {
  ...https,
  [`${M}.codehost.enabled`]: 'true',
  [`${M}.codehost.client_id`]: 'a',
  [`${M}.codehost.client_secret`]: 'b',
}
const orchestrator = {
  [`${M}.orchestrator.audiences`]: 'rollcall',
  [`${M}.orchestrator.enabled`]: 'true',
  [`${M}.orchestrator.ca_path`]: authorityFile,
}
const organizations = { [`${M}.codehost.scopes`]: 'read:org', [`${M}.codehost.allowed_organizations`]: 'acme' }

/** Settings with open access, and the words for it. */
const open: readonly (readonly [Flags, readonly string[]])[] = [
  [{}, []],
  [oidc, ['oidc.google', 'oidc.acme-2']],
  [{ ...oidc, [`${M}.oidc.email_matches`]: '.*@example\\.com' }, []],
  [{ ...oidc, [`${M}.oidc.enabled`]: 'false' }, []],
  [codehost, ['codehost']],
  [{ ...codehost, ...organizations }, []],
  [orchestrator, ['orchestrator']],
  [{ ...orchestrator, [`${M}.orchestrator.allowed`]: '[{"namespace":"a","service_accounts":["b"]}]' }, []],
  [{ [`${A}.required`]: 'false', [`${A}.exclude.ofrep`]: 'true' }, ['required']],
  [{ [`${A}.exclude.management`]: 'true' }, ['exclude.management']],
  [{ [`${A}.exclude.evaluation`]: 'true', [`${A}.exclude.ofrep`]: 'true' }, ['exclude.evaluation', 'exclude.ofrep']],
]

await t.test('open access is reported once: as a warning, or as a note if it is intentional', async (t) => {
  for (const [flags, words] of open) {
    const { warnings, meant } = told(flags)
    t.equal(warnings.length, words.length, words.join())
    t.same(meant, [])
    for (const [n, word] of words.entries()) {
      t.ok(warnings[n]!.endsWith(`; if this is intentional, add ${word} to authentication.open_on_purpose`), word)
      const onPurpose = told({ ...flags, [`${A}.open_on_purpose`]: word })
      t.same([onPurpose.warnings.length, onPurpose.meant.length], [words.length - 1, 1])
      t.match(onPurpose.meant[0], `(${word})`)
    }
    const all = told({ ...flags, [`${A}.open_on_purpose`]: [...words, 'forwarded'].join() })
    t.same([all.warnings.length, all.meant.length], [0, words.length])
  }
})

await t.test('an unknown word is refused, and a known one is suggested', async (t) => {
  for (const [words, wanted] of [
    ['requird', /open_on_purpose: "requird" is not open access of this configuration \(did you mean required\?\)/],
    [
      'oidc.gogle,*',
      /"oidc\.gogle" is not open access .*\(did you mean oidc\.google\?\), "\*" is not open access of this configuration/,
    ],
    ['exclude', /"exclude" is not open access/],
  ] as const) {
    try {
      told({ ...oidc, [`${A}.open_on_purpose`]: words })
      t.fail(words)
    } catch (error) {
      if (!isConfigError(error)) throw error
      t.match(error.message, wanted)
    }
  }
})

await t.test('an allowed service account has only the grants that rules give it', async (t) => {
  const rule = { name: 'a', method: 'orchestrator', namespaces: ['*'], service_accounts: ['*'], grants: ['server@*'] }
  t.match(told(orchestrator).warnings, [/gets a token with full access; /])
  t.match(told({ ...orchestrator, 'authorization.rules': JSON.stringify([rule]) }).warnings, [
    /gets a token with the grants of authorization\.rules; /,
  ])
})
