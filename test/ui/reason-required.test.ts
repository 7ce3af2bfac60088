import type { Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { comesTo, openBrowser, signIn, skip, TOKEN } from './browser.ts'
import { button } from './flag-page.ts'
import { startService } from './service.ts'

const SETTINGS = {
  'authentication.methods.token.bootstrap.token': TOKEN,
  'rate_limit.enabled': 'false',
  'authorization.require_reason': 'prod',
}
const WITH = { 'Event-Reason': 'seed' }
const reasonOf = (page: Page) => page.getByRole('textbox', { name: 'Reason', exact: true })

await t.test('forms of a namespace that requires reasons refuse an empty one and send nothing', { skip }, async (t) => {
  const service = await startService(t, SETTINGS)
  const { request } = service
  await request('POST', '/api/v1/namespaces', { key: 'prod', name: 'Prod' }, WITH)
  const flag = { key: 'kept', name: 'Kept', type: 'BOOLEAN_FLAG_TYPE' }
  await request('POST', '/api/v1/namespaces/prod/flags', flag, WITH)
  await maker(service).boolean('free')
  const { page } = await openBrowser(t, service)
  const writes: string[] = []
  page.on('request', (sent) => {
    if (sent.method() !== 'GET') writes.push(`${sent.method()} ${new URL(sent.url()).pathname}`)
  })
  await signIn(page, '/ns/prod/flags/new')
  writes.length = 0

  /** Presses the button without a reason, then with one, until the condition holds. */
  const needsReason = async (what: string, submit: string, after: () => Promise<unknown>) => {
    t.equal(await reasonOf(page).getAttribute('required'), '', `${what}: the field is marked as required`)
    await button(page, submit).click()
    await page.getByText('Give a reason.').waitFor()
    t.strictSame(writes, [], `${what}: nothing is sent`)
    await reasonOf(page).fill('launch')
    await button(page, submit).click()
    await after()
    t.equal(writes.length, 1, `${what}: one request with the reason`)
    writes.length = 0
  }

  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Made')
  await page.getByText('Kept in the history and never erased: write no personal data here. Required.').waitFor()
  await needsReason('new flag', 'Create flag', () => page.getByRole('heading', { name: 'Made', level: 1 }).waitFor())

  await page.goto('/ns/prod/flags/kept?tab=about')
  await page.getByRole('textbox', { name: 'Description' }).fill('changed')
  await button(page, 'Review changes').click()
  await needsReason('change', 'Save changes', () => page.getByText('1 change saved.').waitFor())

  await page.goto('/ns/prod/flags/kept?tab=about')
  await button(page, 'Delete flag').click()
  await page.getByRole('alertdialog').waitFor()
  await needsReason('deletion', 'Delete flag', () => page.getByText('Flag kept deleted.').waitFor())

  await page.goto('/ns/default/flags/new')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Open')
  t.equal(await reasonOf(page).getAttribute('required'), null, 'another namespace needs none')
  await button(page, 'Create flag').click()
  await page.getByRole('heading', { name: 'Open', level: 1 }).waitFor()
  t.equal(writes.length, 1)
})

await t.test('the reason becomes required when the service refuses a write without one', { skip }, async (t) => {
  const service = await startService(t, SETTINGS)
  await service.request('POST', '/api/v1/namespaces', { key: 'prod', name: 'Prod' }, WITH)
  const { page } = await openBrowser(t, service, { forced: [400, 401] })
  const full = { full: true, publishable: false, places: [{ namespaceKey: '*', rights: ['*'] }] }
  await page.route('**/auth/v1/access', (route) => route.fulfill({ json: full }), { times: 1 })
  await signIn(page, '/ns/prod/flags/new')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Made')
  t.equal(await reasonOf(page).getAttribute('required'), null)
  await button(page, 'Create flag').click()
  await page.getByRole('alert').getByText('a reason is required in namespace "prod"').waitFor()
  await comesTo(t, () => reasonOf(page).getAttribute('required'), '', 'the field is marked as required')
})
