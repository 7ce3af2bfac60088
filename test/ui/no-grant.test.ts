import t from 'tap'
import { group } from '../http/ruled.ts'
import { openBrowser, skip } from './browser.ts'
import { withEveryWay } from './ways.ts'

await t.test('a user without any rights sees only the own account', { skip }, async (t) => {
  const rules = [group('devs', ['devs'], 'viewer@*')]
  const { service, liar } = await withEveryWay(t, {}, { file: { authorization: { rules } } })
  liar.lies = { claims: { name: 'Alice <b>', email: 'alice@example.com', preferred_username: 'alice' } }
  const { page } = await openBrowser(t, service)
  await page.goto('/login?return_to=%2Fsettings%2Fpreferences')
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('You are known, but no rule gives you access.').waitFor()
  await alert.getByText('The provider says that you are Alice <b> (alice@example.com, alice).').waitFor()
  await alert.getByText('Ask an administrator for a role. Give them the request id.').waitFor()
  const { searchParams } = new URL(page.url())
  await alert.getByText(`Request ${searchParams.get('ref')}`).waitFor()
  t.notMatch(page.url(), /alice/i, 'no address says who')

  await page.goto('/login?error=no_grant&ref=another')
  await alert.getByText('Request another').waitFor()
  t.notMatch(await alert.innerText(), /provider says/, 'not for another request either')
  const other = await openBrowser(t, service)
  await other.page.goto(`/login?error=no_grant&ref=${searchParams.get('ref')}`)
  await other.page.getByRole('alert').getByText('You are known').waitFor()
  t.notMatch(await other.page.getByRole('alert').innerText(), /provider says/)
})
