import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loginMethods } from '../../src/app/auth/login-methods.ts'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { loadConfig } from '../../src/config/load.ts'
import { namesOf } from '../../src/contract/identifiers.ts'
import { rollcall } from '../cli/service.ts'
import { virtualClock } from '../virtual-clock.ts'
import { bearer, everyWay, logIn, OIDC, refusalOf, type Settings } from './people.ts'
import { group, underRules } from './ruled.ts'

const EMAIL = 'alice@example.com'
const ABSENT = Symbol('absent')
/** Values of `email_verified`, and whether they verify the email. */
const SAID: readonly (readonly [unknown, boolean | 'assumed'])[] = [
  [true, true],
  ['true', true],
  [ABSENT, 'assumed'],
  ...[false, 'false', 0, 1, null, '', 'True', 'TRUE', ' true', 'yes', '0', '1', [true], ['true'], {}].map(
    (said) => [said, false] as const,
  ),
]
const claimsOf = (said: unknown) => ({ email: EMAIL, ...(said !== ABSENT && { email_verified: said }) })

const provider = 'authentication.methods.oidc.providers.main'
const matching: Settings = { 'authentication.methods.oidc.email_matches': '["alice@example\\\\.com"]' }
const rules = [{ ...group('mail', [EMAIL], 'viewer@*'), claim: 'email' }]

/** Settings of the provider for an offline command. */
const providerOf = (assume: boolean) => ({
  issuer_url: 'https://id.example.com',
  client_id: 'a',
  client_secret: 'b',
  redirect_address: 'https://r.example.com',
  assume_email_verified: assume,
})

const folder = mkdtempSync(join(tmpdir(), 'rollcall-verified-'))
const file = (content: unknown): string => {
  const path = join(folder, 'file.json')
  writeFileSync(path, JSON.stringify(content))
  return path
}

for (const assume of [false, true])
  await t.test(
    `login and later checks agree on a verified address${assume ? '; unknown is verified' : ''}`,
    async (t) => {
      const assumed: Settings = { [`${provider}.assume_email_verified`]: String(assume) }
      const expected = SAID.map(([, verified]) => (verified === 'assumed' ? assume : verified))
      const told = (found: readonly boolean[], what: string) =>
        t.strictSame(
          found.map((verified, n) => [String(SAID[n]![0]), verified]),
          expected.map((verified, n) => [String(SAID[n]![0]), verified]),
          what,
        )

      // At first every email is allowed, later not.
      const before = await everyWay(t, assumed)
      const { directory } = before.service
      const tokens: string[] = []
      for (const [said] of SAID) {
        before.liar.lies = { claims: claimsOf(said) }
        tokens.push((await logIn(before.service, OIDC)).token)
      }
      await before.service.close()

      const restricted = await everyWay(t, { ...assumed, ...matching }, { directory })
      const [requests, logins]: [boolean[], boolean[]] = [[], []]
      for (const [n, [said]] of SAID.entries()) {
        const answer = await restricted.service.request('GET', '/auth/v1/self', undefined, bearer(tokens[n]!))
        if (answer.status !== 200) t.equal(refusalOf(answer).reason, 'email_not_allowed')
        requests.push(answer.status === 200)
        restricted.liar.lies = { claims: claimsOf(said) }
        logins.push((await logIn(restricted.service, OIDC)).answer.status === 200)
      }
      told(requests, 'each request, by email_matches')
      told(logins, 'the login, by email_matches')
      await restricted.service.close()

      const ruled = await underRules(t, { rules }, assumed, { directory })
      const [narrowed, granted]: [boolean[], boolean[]] = [[], []]
      for (const [n, [said]] of SAID.entries()) {
        narrowed.push(
          (await ruled.service.request('GET', '/auth/v1/self', undefined, bearer(tokens[n]!))).status === 200,
        )
        ruled.liar.lies = { claims: claimsOf(said) }
        granted.push((await logIn(ruled.service, OIDC)).answer.status === 200)
      }
      told(narrowed, 'each request, by rules')
      told(granted, 'the login, by rules')

      const config = join(folder, 'rollcall.json')
      const main = providerOf(assume)
      writeFileSync(
        config,
        JSON.stringify({ authentication: { methods: { oidc: { providers: { main } } } }, authorization: { rules } }),
      )
      const checked: boolean[] = []
      for (const [said] of SAID) {
        const who = file({ method: 'oidc', provider: 'main', claims: claimsOf(said) })
        const { exit } = await rollcall(['config', 'check', config, '--as', who])
        t.ok(exit === 0 || exit === 3)
        checked.push(exit === 0)
      }
      told(checked, 'config check --as')
    },
  )

await t.test('a session of an earlier version is checked by its recorded claims', async (t) => {
  const config = join(folder, 'earlier.json')
  const main = providerOf(true)
  writeFileSync(
    config,
    JSON.stringify({
      authentication: { methods: { oidc: { email_matches: ['.*@example\\.com'], providers: { main } } } },
    }),
  )
  const loaded = loadConfig({ file: config, env: {} }).config
  const clock = virtualClock()
  const quiet = { error: () => {}, info: () => {} }
  const { barOf } = await loginMethods(
    loaded,
    namesOf(loaded.identifiers),
    { pepper: { key: new Uint8Array(32) }, limiter: () => ({}) } as unknown as Parameters<typeof loginMethods>[2],
    { faults: outageLog(quiet, clock), clock, tracer: undefined },
  )
  for (const [said, verified] of SAID) {
    // That version stored only these four values in the record.
    const word = [true, 'true', false, 'false'].includes(said as boolean) && { 'oidc.email_verified': String(said) }
    const recorded = { 'oidc.email': EMAIL, ...word, claims: JSON.stringify(claimsOf(said)) }
    t.equal(barOf('main', recorded) === undefined, verified !== false, String(said))
    t.equal(barOf('other', recorded) === undefined, verified === true, String(said))
  }
  t.equal(barOf('main', {}), 'email_absent', 'of whom everything was erased')
})
