import t from 'tap'
import { granted, withNamespaces } from '../http/granted.ts'
import { openBrowser, skip, TOKEN } from './browser.ts'
import { startService } from './service.ts'

await t.test('after signing in the UI opens the first namespace that the user may read', { skip }, async (t) => {
  const service = await withNamespaces(
    await startService(t, {
      'authentication.methods.token.bootstrap.token': TOKEN,
      'rate_limit.enabled': 'false',
    }),
    'shop',
    'till',
  )
  const grants = ['till', 'shop'].map((namespaceKey) => ({ role: 'editor', namespaceKey }))
  const tokens = {
    shop: (await granted(service, { grants })).clientToken,
    default: TOKEN,
  }
  for (const [namespace, token] of Object.entries(tokens)) {
    const { page } = await openBrowser(t, service, { forced: [401] })
    await page.goto('/')
    await page.getByLabel('Client token').fill(token)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Flags', level: 1 }).waitFor()
    await page.waitForURL(`**/ns/${namespace}/flags`)
    await page.getByRole('heading', { name: 'No flags yet' }).waitFor()
    await page.goto('/ns/till/flags')
    await page.getByRole('heading', { name: 'No flags yet' }).waitFor()
    await page.goto('/')
    await page.waitForURL('**/ns/till/flags')
    await page.context().close()
  }
})
