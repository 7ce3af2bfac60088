import t from 'tap'
import { granted, withNamespaces } from '../http/granted.ts'
import { openBrowser, signedIn, skip, TOKEN } from './browser.ts'
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

await t.test('a page of a missing namespace shows that it does not exist, now and at a moment', { skip }, async (t) => {
  const { page, service } = await signedIn(t, '/ns/nope/flags', {}, { forced: [400, 404] })
  const picker = page.getByRole('banner').getByRole('combobox', { name: 'Namespace' })
  const chosen = async () => [await picker.inputValue(), await picker.getAttribute('placeholder')]
  const gone = async (text: string, heading = 'Namespace not found') => {
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    await page.getByText(text, { exact: true }).waitFor()
    t.same(await chosen(), ['', 'Choose a namespace'], 'the picker has no value')
    t.equal(await page.getByRole('link', { name: /^New / }).count(), 0)
    t.equal(await page.getByText(/ yet$/).count(), 0)
  }
  await gone('There is no namespace nope.')
  await page.goto('/ns/nope/segments?q=x')
  await gone('There is no namespace nope.')
  const { headers } = await service.request('POST', '/api/v1/namespaces/default/segments', { key: 's', name: 'S' })
  const before = String(headers['event-position'])
  await service.request('POST', '/api/v1/namespaces', { key: 'later', name: 'Later' })
  for (const list of ['flags', 'segments']) {
    await page.goto(`/ns/later/${list}?at=${before}`)
    await gone('There was no namespace later at this moment.')
    await page.goto(`/ns/later/${list}`)
    await page.getByRole('heading', { name: `No ${list} yet` }).waitFor()
    t.same(await chosen(), ['later', ''])
  }
  for (const part of ['flags?page=WyJhIl0', 'segments?sort=name&order=desc']) {
    await page.goto(`/ns/nope/${part}`)
    await gone('There is no namespace nope.')
  }
  await page.goto('/ns/nope/flags/f')
  await gone('There is no namespace nope.', 'Flag not found')
  await page.goto('/ns/default/flags/f')
  await page.getByRole('link', { name: 'Go to flags' }).waitFor()
  t.same(await chosen(), ['default', ''])
  await page.goto('/ns/nope/flags')
  await page.getByRole('link', { name: 'Go to namespaces' }).click()
  await page.getByRole('heading', { name: 'Namespaces 2', level: 1 }).waitFor()
  await page.goto('/')
  await page.waitForURL('**/ns/default/flags')
})
