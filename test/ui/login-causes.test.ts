import t, { type Test } from 'tap'
import type { Lies } from '../auth/stand-ins/liar.ts'
import { unusable } from '../auth/stand-ins/listen.ts'
import { rowOf, rows } from '../http/causes.ts'
import { OIDC } from '../http/people.ts'
import { group } from '../http/ruled.ts'
import { openBrowser, skip } from './browser.ts'
import { leave, withEveryWay } from './ways.ts'

await t.test('the sign-in page has a text for each reason in its address', { skip }, async (t) => {
  const { service } = await withEveryWay(t)
  const { page } = await openBrowser(t, service)
  for (const { cause, reason, title } of rows) {
    if (cause.startsWith('email_')) continue
    await page.goto(`/login?error=${reason}&ref=of-${cause}`)
    await page.getByRole('alert').getByText(`Request of-${cause}`).waitFor()
    t.equal(await page.getByRole('alert').locator('strong').innerText(), title, cause)
  }
})

const ofPerson: readonly (readonly [cause: string, claims: Lies['claims'], account: string])[] = [
  ['email_absent', {}, 'Ada'],
  ['email_unverified', { email: 'ada@example.com', email_verified: false }, 'Ada (ada@example.com)'],
  ['email_unsaid', { email: 'ada@example.com' }, 'Ada (ada@example.com)'],
  ['email_unmatched', { email: 'a.d.a@example.com', email_verified: true }, 'Ada (a.d.a@example.com)'],
  ['grant_unmatched', { email: 'ada@example.com', email_verified: true }, 'Ada (ada@example.com)'],
]

await t.test('the sign-in page shows the refused account and the reason', { skip }, async (t) => {
  const world = await withEveryWay(
    t,
    {
      'authentication.methods.oidc.email_matches': 'ada@example\\.com',
      'authentication.methods.codehost.scopes': 'read:org',
      'authentication.methods.codehost.allowed_organizations': 'acme',
    },
    { file: { authorization: { rules: [group('devs', ['devs'], 'viewer@*')] } } },
  )
  const { service, liar, host } = world
  const { page, context } = await openBrowser(t, service)
  const alert = page.getByRole('alert')
  const reads = async (t: Test, cause: string, account: string) => {
    const { title, reason, why } = rowOf(cause)
    await alert.getByText(`The provider says that you are ${account}.`).waitFor()
    t.equal(await alert.locator('strong').innerText(), title, cause)
    const { searchParams } = new URL(page.url())
    t.equal(searchParams.get('error'), reason)
    const line = (await service.logged()).split('\n').find((text) => text.includes(searchParams.get('ref')!))
    t.match(JSON.parse(line ?? '{}'), { reason, cause, why: why.split('{')[0] })
  }
  for (const [cause, claims, account] of ofPerson) {
    liar.lies = { claims: { name: 'Ada', ...claims } }
    await page.goto(`${OIDC}/callback?${String(await leave(page, world))}`)
    await reads(t, cause, account)
    // The random request id may contain these letters.
    const { ref: _, ...told } = Object.fromEntries(new URL(page.url()).searchParams)
    t.notMatch(JSON.stringify(told), /ada/i, 'no address says who')
    await context.clearCookies()
  }
  host.organizations = [{ login: 'other' }]
  await page.goto('/login')
  await page.getByRole('button', { name: 'Continue with the code host' }).click()
  await reads(t, 'membership_other', 'Alice (alice@example.com, alice)')
})

await t.test('the sign-in page shows a misconfigured provider next to its button', { skip }, async (t) => {
  const world = await withEveryWay(t)
  const { page } = await openBrowser(t, world.service, { forced: [503] })
  world.liar.lies = { document: unusable['404']! }
  await page.goto('/login')
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  await page.getByRole('alert').getByText(rowOf('answer_refused').title).waitFor()
  t.match(await world.service.logged(), /"reason":"provider_mismatch".*discovery at 127.*status 404/)
})
