import type { Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { settled, signedIn, skip, stopClock } from './browser.ts'
import { closeByEscape, focused, tabTo } from './focus.ts'
import { tokenNamed } from './ways.ts'

const path = '/settings/tokens'
const parts = (page: Page) => {
  const palette = page.getByRole('dialog', { name: 'Command palette' })
  const results = palette.getByRole('listbox', { name: 'Results' })
  return {
    palette,
    field: palette.getByRole('textbox', { name: 'Type a command or search' }),
    results,
    found: (group: string, name: string | RegExp) =>
      results.getByRole('group', { name: group }).getByRole('option', { name }),
  }
}

await t.test('the command palette finds pages, flags, tokens and actions, in groups', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path)
  const { palette, field, results, found } = parts(page)
  const make = maker(service)
  for (let n = 0; n < 7; n++) await make.boolean(`ship-${n}`)
  await make.segment('shippers')
  await tokenNamed(service, 'shipping')
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('q=')) asked.push(new URL(request.url()).searchParams.get('q')!)
  })
  const opened = Date.parse('2040-01-01')
  await page.clock.install({ time: opened })
  await page.reload()
  await page.getByRole('button', { name: 'New token' }).waitFor()
  await page.keyboard.press('Control+k')
  await field.waitFor()
  // Stop the clock, so that a slow machine does not count as a pause in typing.
  await page.clock.pauseAt(opened + 3_600_000)
  await field.pressSequentially('ship', { delay: 20 })
  t.strictSame(asked, [], 'no request before the pause')
  await page.clock.resume()
  await found('Tokens', 'shipping').waitFor()
  await found('Flags', 'ship-0').waitFor()
  t.equal(await found('Flags', /ship/).count(), 5, 'five of each')
  t.strictSame([...new Set(asked)], ['ship'], 'one request after a pause in typing')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'ship-1', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await field.waitFor()
  t.match((await results.getByRole('group').allInnerTexts()).join('|'), /^Go to.*\|Actions/s)
  await field.fill('shippe')
  await found('Segments', 'shippers').click()
  await page.getByRole('heading', { name: 'shippers', level: 1 }).waitFor()
  t.match(page.url(), /\/ns\/default\/segments\/shippers$/)
  await page.keyboard.press('Control+k')
  await field.fill('shipp')
  await found('Tokens', 'shipping').click()
  await page.waitForURL(/\/settings\/tokens\/[\w-]+$/)
  await page.getByRole('heading', { name: 'shipping', level: 1 }).waitFor()
  await page.goto(path)
  await page.getByRole('button', { name: 'New token' }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('nothing-of-this-name')
  await palette.getByText('Nothing found').waitFor()
})

await t.test('the command palette offers actions with shortcuts, and explains disabled ones', { skip }, async (t) => {
  const { page, service, context } = await signedIn(t, path)
  const { palette, field, found } = parts(page)
  const { headers } = await service.request('POST', '/auth/v1/method/token', { name: 'ci-prod' })
  const at = String(headers['event-position'])
  const create = page.getByRole('button', { name: 'New token' })
  await create.waitFor()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await field.fill('new token')
  t.equal(
    await found('Actions', /^New token/)
      .locator('kbd')
      .innerText(),
    'n',
  )
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'New static token' }).waitFor()
  await page.keyboard.press('Control+k')
  await settled(page)
  t.notOk(await palette.isVisible(), 'not over a form')
  await page.keyboard.press('Escape')
  await page.goto(`${path}?at=${at}`)
  await create.waitFor()
  const opener = await tabTo(page, 'Search', 'button')
  await page.keyboard.press('Enter')
  await field.fill('new token')
  const refused = found('Actions', /^New token/)
  await refused.getByText('This is the past.').waitFor()
  t.equal(await refused.getAttribute('aria-disabled'), 'true')
  await page.keyboard.press('Enter')
  await settled(page)
  t.ok(await palette.isVisible(), 'it does nothing')
  await field.fill('pref')
  const opened = context.waitForEvent('page')
  await page.keyboard.press('Control+Enter')
  const tab = await opened
  await tab.getByRole('heading', { name: 'Preferences' }).waitFor()
  t.equal(new URL(tab.url()).searchParams.get('at'), at, 'the moment is kept')
  await tab.close()
  const href = await found('Go to', 'Preferences').getAttribute('href')
  t.equal(href, `/settings/preferences?at=${at}`, 'a destination is a link')
  await closeByEscape(page, palette)
  await focused(page, opener)
  await page.keyboard.press('Enter')
  await field.fill('another moment')
  await page.keyboard.press('Enter')
  await closeByEscape(page, page.getByRole('dialog', { name: 'Look at another moment' }))

  await page.goto('/ns/default/evaluate')
  await page.getByRole('heading', { name: 'Evaluate' }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('new entity')
  await page.keyboard.press('Enter')
  await palette.waitFor({ state: 'detached' })
  t.match(await page.getByRole('textbox', { name: 'Entity id' }).inputValue(), /^[\da-f]{32}$/)
  await page.keyboard.press('Control+k')
  await field.fill('copy as curl')
  await found('Actions', /^Copy as curl/)
    .getByText('Evaluate first.')
    .waitFor()
})

await t.test('a heading does not take the focus from the palette', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { clock: true })
  const { field } = parts(page)
  await stopClock(page)
  await page.getByRole('link', { name: 'Namespaces' }).click()
  await page.getByRole('heading', { name: 'Namespaces', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('sess')
  await page.evaluate(`addEventListener('focusin', ({ target }) => (document.body.dataset.focused = target.tagName))`)
  await page.clock.runFor(100)
  t.equal(await page.locator('body').getAttribute('data-focused'), null)
  await focused(page, field)
})

await t.test('a search that fails is not shown as an empty list', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { forced: [401, 503] })
  const { palette, field } = parts(page)
  await page.keyboard.press('Control+k')
  await palette.waitFor()
  await page.route('**/api/v1/**', (route) => route.fulfill({ status: 503, json: { message: 'away' } }))
  await field.fill('checkout')
  await palette.getByText('The service could not be searched.').waitFor()
})
