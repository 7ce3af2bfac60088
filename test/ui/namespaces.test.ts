import type { Page } from 'playwright-core'
import t from 'tap'
import type { Namespace } from '../../src/contract/resource.ts'
import { comesTo, signedIn, skip, withSession } from './browser.ts'
import { sentInSilence, withFates } from './fates.ts'
import { closeByEscape, focused, headed } from './focus.ts'

const path = '/settings/namespaces'
const N = '/api/v1/namespaces'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const said = (page: Page, words: string) => page.getByRole('status').getByText(words).waitFor()

await t.test(
  'a namespace is created once even if the answer is lost, and the form shows errors',
  {
    skip,
  },
  async (t) => {
    const { page, service } = await signedIn(t, path, {}, { forced: [0, 400, 401, 403, 500, 503] })
    await page.getByRole('heading', { name: 'Namespaces 1', level: 1 }).waitFor()
    await page.keyboard.press('n')
    const dialog = page.getByRole('dialog', { name: 'New namespace' })
    const create = dialog.getByRole('button', { name: 'Create namespace' })
    await create.click()
    await dialog.getByText('Give the namespace a name.').waitFor()
    await dialog.getByText('Give the namespace a key.').waitFor()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Default')
    await create.click()
    await dialog.getByText('This key is taken.').waitFor()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Shop')
    await dialog.getByRole('textbox', { name: 'Key' }).fill('the-shop')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('für den Laden')
    await withFates(page, `**${N}`, [403, 500, 503, 'dropped', 'lost'])
    await create.click()
    const alert = dialog.getByRole('alert')
    await alert.getByText('The namespace was not created').waitFor()
    await alert.getByText('no: 403').waitFor()
    for (const _ of [2, 3, 4, 5]) {
      await create.click()
      await alert.getByText('It is not known whether this was done.').waitFor()
    }
    await create.click()
    await said(page, 'Namespace the-shop created.')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Namespaces 2', level: 1 }).waitFor()
    const { json } = await service.request<Namespace>('GET', `${N}/the-shop`)
    t.match(json, { name: 'Shop', protected: false })
    await page.getByRole('rowheader', { name: 'Shop' }).getByRole('link').click()
    await page.getByRole('heading', { name: 'No flags yet' }).waitFor()
    t.match(page.url(), /\/ns\/the-shop\/flags$/)
  },
)

await t.test('creation in progress is shown for 10 s, and a second click does nothing', { skip }, async (t) => {
  const { page } = await signedIn(t, path)
  await button(page, 'New namespace').click()
  const dialog = page.getByRole('dialog', { name: 'New namespace' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Shop')
  const inDialog = (name: string) => dialog.getByRole('button', { name })
  await sentInSilence(t, page, `**${N}`, inDialog('Create namespace'), inDialog('Creating…'))
  await said(page, 'Namespace shop created.')
  await page.getByRole('heading', { name: 'Namespaces 2', level: 1 }).waitFor()
})

await t.test('a namespace can be edited, also after a change that conflicts', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { forced: [401, 404, 412, 503] })
  await service.request('POST', N, { key: 'shop', name: 'Shop', description: 'Sells' })
  await page.goto(path)
  const dialog = page.getByRole('dialog', { name: 'Edit Shop' })
  const name = dialog.getByRole('textbox', { name: 'Name' })
  const save = dialog.getByRole('button', { name: 'Save changes' })
  const shop = async () => (await service.request<Namespace>('GET', `${N}/shop`)).json
  await button(page, 'Edit Shop').click()
  await name.fill('')
  await save.click()
  await dialog.getByText('Give the namespace a name.').waitFor()
  await name.fill('The shop')
  await service.request('PUT', `${N}/shop`, { name: 'Shop', description: 'Sells more' })
  await save.click()
  const ask = page.getByRole('alertdialog', { name: 'This namespace was changed meanwhile' })
  await ask.getByText('initial_bootstrap_token changed it just now. Nothing of yours was saved.').waitFor()
  await ask.getByText('Sells more').waitFor()
  await ask.getByRole('button', { name: 'Keep my changes' }).click()
  await dialog.getByText('Your changes are now based on the present state.').waitFor()
  await comesTo(t, () => dialog.getByRole('textbox', { name: 'Description' }).inputValue(), 'Sells more')
  let failed = false
  await page.route(`**${N}/shop`, (route) => {
    if (route.request().method() !== 'PUT' || failed) return route.fallback()
    failed = true
    return route.fulfill({ status: 503, json: { code: 14, message: 'not now', details: [] } })
  })
  await save.click()
  await dialog.getByRole('alert').getByText('Nothing was saved').waitFor()
  await save.click()
  await said(page, 'Namespace shop changed.')
  await page.getByRole('rowheader', { name: 'The shop' }).waitFor()
  t.match(await shop(), { name: 'The shop', description: 'Sells more' })

  await button(page, 'Edit The shop').click()
  const second = page.getByRole('dialog', { name: 'Edit The shop' })
  await second.getByRole('textbox', { name: 'Name' }).fill('Mine')
  await service.request('PUT', `${N}/shop`, { name: 'Theirs', description: '' })
  await page.route('**/api/v1/namespaces?*', (route) =>
    route.fulfill({ status: 503, json: { code: 14, message: 'no' } }),
  )
  await second.getByRole('button', { name: 'Save changes' }).click()
  await ask.getByText('Somebody changed it just now. Nothing of yours was saved.').waitFor()
  await page.unroute('**/api/v1/namespaces?*')
  await ask.getByRole('button', { name: 'Discard my changes' }).click()
  await comesTo(t, () => second.getByRole('textbox', { name: 'Name' }).inputValue(), 'Theirs')
  t.match(await shop(), { name: 'Theirs' })
  await second.getByRole('textbox', { name: 'Name' }).fill('Mine')
  await service.request('DELETE', `${N}/shop`)
  await second.getByRole('button', { name: 'Save changes' }).click()
  const gone = page.getByRole('alertdialog', { name: 'This namespace was deleted meanwhile' })
  const kept = await gone.getByRole('textbox', { name: 'Your changes' }).inputValue()
  t.match(JSON.parse(kept), { name: 'Mine', description: '' })
})

await t.test(
  'a namespace with flags is deleted only after its key is typed, a protected one never',
  {
    skip,
  },
  async (t) => {
    const { page, service } = await withSession(t, {}, { forced: [400, 401, 503] })
    await service.request('POST', N, { key: 'shop', name: 'Shop' })
    await service.request('POST', N, { key: 'attic', name: 'Attic' })
    await service.request('POST', `${N}/attic/segments`, { key: 's', name: 's' })
    await page.goto(path)
    const status = async (key: string) => (await service.request('GET', `${N}/${key}`)).status
    t.equal(await button(page, 'Delete Default').getAttribute('aria-disabled'), 'true')
    await page
      .getByRole('row', { name: /Default/ })
      .getByText('Protected: it cannot be deleted.')
      .waitFor()

    await button(page, 'Delete Attic').click()
    const empty = page.getByRole('alertdialog', { name: 'Delete namespace attic?' })
    await empty.getByText('It has no flags. Its 1 segment goes with it.').waitFor()
    await empty.getByRole('button', { name: 'Cancel' }).click()
    t.equal(await status('attic'), 200)
    await button(page, 'Delete Attic').click()
    await empty.waitFor()
    await service.request('POST', `${N}/attic/flags`, { key: 'f', name: 'f' })
    await empty.getByRole('button', { name: 'Delete namespace' }).click()
    const full = page.getByRole('alertdialog', { name: 'Namespace attic still has 1 flag' })
    await full.getByText('Delete them first, or delete everything:').waitFor()
    const field = full.getByRole('textbox', { name: 'Type the key to delete the namespace and its 1 flag' })
    const submit = full.getByRole('button', { name: 'Delete namespace and flags' })
    await submit.click()
    await full.getByText('Type attic to confirm.').waitFor()
    t.equal(await status('attic'), 200, 'nothing was deleted')
    let failed = false
    await page.route(`**${N}/attic?*`, (route) => {
      if (failed) return route.fallback()
      failed = true
      return route.fulfill({ status: 503, json: { code: 14, message: 'not now', details: [] } })
    })
    await field.fill('attic')
    await submit.click()
    await full.getByText('It is not known whether this was done.').waitFor()
    await submit.click()
    await said(page, 'Namespace attic deleted.')
    await page.getByRole('heading', { name: 'Namespaces 2', level: 1 }).waitFor()
    t.equal(await status('attic'), 404)
    await focused(page, page.getByRole('link', { name: 'Default' }))

    await page.goto('/ns/shop/flags')
    await page.getByRole('heading', { name: 'No flags yet' }).waitFor()
    await page.goto(path)
    await button(page, 'Delete Shop').click()
    const shop = page.getByRole('alertdialog', { name: 'Delete namespace shop?' })
    await shop.getByText('It has no flags.').waitFor()
    await shop.getByRole('button', { name: 'Delete namespace' }).click()
    await said(page, 'Namespace shop deleted.')
    await headed(page, 'Namespaces 1')
    await page.goto('/')
    await page.waitForURL(/\/ns\/default\/flags$/)
  },
)

await t.test(
  'the service searches and pages namespaces, and their names are shown as plain text',
  { skip },
  async (t) => {
    const { page, service } = await withSession(t)
    const names = ['<img src=x onerror="document.title=\'run\'">', '{{7*7}}', 'a\u202eb', 'ü'.repeat(255)]
    for (const [n, name] of names.entries()) await service.request('POST', N, { key: `k${n}`, name, description: name })
    for (let n = 0; n < 50; n++) await service.request('POST', N, { key: `n-${n}`, name: `Number ${n}` })
    await page.goto(path)
    await page.getByRole('rowheader', { name: names[0]! }).waitFor()
    await page.getByText('U+202E').first().waitFor()
    await button(page, `Edit ${names[0]!}`).click()
    const edit = page.getByRole('dialog', { name: `Edit ${names[0]!}` })
    await focused(page, edit.getByLabel('Name'))
    await closeByEscape(page, edit)
    await button(page, 'Next page').click()
    await page.getByRole('rowheader', { name: names[3]! }).waitFor()
    const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 800 })
      t.equal(await page.evaluate(wide), false, `nothing makes the page scroll sideways (${width})`)
    }
    await page.getByRole('searchbox', { name: 'Search namespaces' }).fill('number 4')
    await page.getByRole('heading', { name: 'Namespaces 11', level: 1 }).waitFor()
    t.equal(new URL(page.url()).search, '?q=number+4')
    await page.getByRole('searchbox', { name: 'Search namespaces' }).fill('zzz')
    await page.getByRole('heading', { name: 'No namespaces match' }).waitFor()
    t.notMatch(await page.title(), /^run/)
  },
)
