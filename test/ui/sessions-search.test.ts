import t from 'tap'
import { openBrowser, signIn, skip } from './browser.ts'
import { withSessions } from './ways.ts'

await t.test('the search for sessions explains what it covers', { skip }, async (t) => {
  const { service } = await withSessions(t)
  const { page } = await openBrowser(t, service)
  await signIn(page, '/settings/sessions?q=apps')
  await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
  await page.getByText('Choose a method to list them.').waitFor()
  await page.getByRole('combobox', { name: 'Method' }).selectOption({ label: 'OpenID Connect' })
  await page.getByRole('heading', { name: 'Sessions 2' }).waitFor()
  await page.getByText('logins are not searched, and all of this method are listed.').waitFor()
  await page.getByRole('combobox', { name: 'Method' }).selectOption({ label: 'Service account' })
  await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
  const seen = page.getByRole('row', { name: /apps\/web/ }).locator('[data-label="Last seen"]')
  t.equal(await seen.innerText(), 'Not known')
})
