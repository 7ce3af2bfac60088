import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, restOf, skip } from './browser.ts'
import { startService } from './service.ts'

const STORED = `[localStorage.getItem('kept'), sessionStorage.getItem('kept')]`

await t.test('a browser window that is used again keeps nothing of the previous test', { skip }, async (t) => {
  const { url } = await startService(t)
  let used: Page | undefined
  await t.test('the first test stores data in the browser window', async (t) => {
    const { page, context, newPage } = await openBrowser(t, { url })
    used = page
    await newPage()
    // Only a page at rest can be reused. Pending requests would be dropped and might reload the page.
    const rest = restOf(page)
    await page.goto('/login')
    await page.getByLabel('Client token').waitFor()
    await rest()
    await page.evaluate(`localStorage.setItem('kept', '1'), sessionStorage.setItem('kept', '1')`)
    await context.addCookies([{ name: 'kept', value: '1', url }])
    await page.route('**/*', (route) => route.abort())
    await page.setViewportSize({ width: 375, height: 700 })
    t.strictSame(await page.evaluate(STORED), ['1', '1'])
  })
  await t.test('the next test gets the window without these data', async (t) => {
    const { page, context } = await openBrowser(t, { url })
    // Not `t.equal`, because on a mismatch tap would print two whole pages and run out of memory.
    t.ok(page === used, 'the same page')
    t.equal(context.pages().length, 1)
    t.strictSame(await context.cookies(), [])
    await page.goto('/login')
    t.strictSame(await page.evaluate(STORED), [null, null])
    t.equal(await page.evaluate('innerWidth'), 1280)
  })
  await t.test('a test with a virtual clock gets another window', async (t) => {
    const { page } = await openBrowser(t, { url }, { clock: true })
    t.ok(page !== used, 'another page')
  })
})
