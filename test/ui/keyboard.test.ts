import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, signedIn, skip, TOKEN } from './browser.ts'
import { startService } from '../start.ts'
import { tokenNamed } from './ways.ts'

const path = '/settings/tokens'

const hasFocus = async (page: Page, wanted: Locator): Promise<boolean> =>
  (await wanted.and(page.locator(':focus')).count()) > 0

/** Goes on by Tab until the control of that name has the focus, which can be seen. */
const tabTo = async (page: Page, name: string | RegExp, role: Parameters<Page['getByRole']>[0]) => {
  const wanted = page.getByRole(role, { name }).first()
  for (let step = 0; step < 60; step++) {
    if (await hasFocus(page, wanted)) return wanted
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to ${role} ${String(name)}`)
}

await t.test('somebody signs in and makes a token without a mouse', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  const { page } = await openBrowser(t, service)
  await page.goto(path)
  await page.getByLabel('Client token').waitFor()
  while (!(await hasFocus(page, page.getByLabel('Client token')))) await page.keyboard.press('Tab')
  await page.keyboard.type(TOKEN)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'New token' }).waitFor()
  const opener = await tabTo(page, 'New token', 'button')
  t.not(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none', 'the focus is seen')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New static token' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.ok(await hasFocus(page, opener), 'the focus comes back to its opener')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Name', 'textbox')
  await page.keyboard.type('by-keys')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('dialog', { name: 'Token created' }).waitFor()
  await tabTo(page, 'I have stored this token', 'checkbox')
  await page.keyboard.press('Space')
  await tabTo(page, 'Done', 'button')
  await page.keyboard.press('Enter')
  await page.getByRole('rowheader', { name: 'by-keys' }).waitFor()
})

await t.test('single keys do what the list of shortcuts says', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path)
  await tokenNamed(service, 'one')
  await page.reload()
  await page.getByRole('rowheader', { name: 'one' }).waitFor()
  await page.keyboard.press('?')
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await list.waitFor()
  await page.keyboard.press('n')
  t.notOk(await page.getByRole('dialog', { name: 'New static token' }).isVisible(), 'not while something is open')
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'detached' })
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByRole('region', { name: 'Selection' }).getByText('1 selected').waitFor()
  await page.keyboard.press('/')
  const search = page.getByRole('searchbox', { name: 'Search tokens' })
  t.ok(await hasFocus(page, search))
  await page.keyboard.type('n')
  t.equal(await search.inputValue(), 'n', 'in a field it is a letter')
  await page.keyboard.press('Escape')
  t.equal(await search.inputValue(), '')
  await page.getByRole('heading', { name: /^Static Tokens/ }).click()
  await page.keyboard.press('t')
  await page.getByRole('dialog', { name: 'Look at another moment' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.waitForURL(/\/ns\/default\/flags$/)
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await page.waitForURL(/\/settings\/tokens$/)
  await page.getByRole('link', { name: 'Preferences' }).click()
  await page.getByRole('switch', { name: 'Single-key shortcuts' }).click()
  await page.getByRole('heading', { name: 'Preferences' }).click()
  await page.keyboard.press('?')
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  t.notOk(await list.isVisible(), 'switched off, they do nothing')
  t.match(page.url(), /\/settings\/preferences$/)
})
