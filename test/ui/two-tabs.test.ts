import type { Page } from 'playwright-core'
import t from 'tap'
import { OIDC } from '../http/people.ts'
import { openBrowser, skip } from './browser.ts'
import { leave, withEveryWay } from './ways.ts'

const callback = (query: URLSearchParams): string => `${OIDC}/callback?${String(query)}`
/** Collects the `prompt` parameter of each login that the page starts. */
const promptsOf = (page: Page): readonly (string | null)[] => {
  const prompts: (string | null)[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === `${OIDC}/authorize`) prompts.push(searchParams.get('prompt'))
  })
  return prompts
}
const signedInAt = async (page: Page, path: string) => {
  await page.getByRole('button', { name: /^Account: / }).waitFor()
  await page.waitForURL(`**${path}`)
}

await t.test('two tabs can sign in, each to its own page, in any order', { skip }, async (t) => {
  const world = await withEveryWay(t)
  const { page, newPage } = await openBrowser(t, world.service)
  const other = await newPage()
  const [first, second] = [await leave(page, world), await leave(other, world, '/ns/default/segments')]
  await other.goto(callback(second))
  await signedInAt(other, '/ns/default/segments')
  await page.goto(callback(first))
  await signedInAt(page, '/settings/preferences')
})

await t.test('a sign-in that is no longer needed is not reported to a signed-in user', { skip }, async (t) => {
  let ahead = 0
  const world = await withEveryWay(t, {}, { now: () => new Date(Date.now() + ahead) })
  const { page, newPage } = await openBrowser(t, world.service)
  const back = callback(await leave(page, world))
  const late = await leave(await newPage(), world, '/ns/default/segments')
  await page.goto(back)
  await signedInAt(page, '/settings/preferences')
  for (const way of ['used', 'of another browser'] as const) {
    await page.goto(way === 'used' ? back : `${OIDC}/callback?code=x&state=of-another-browser`)
    await page.getByRole('button', { name: /^Account: / }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0, way)
  }
  ahead = 11 * 60_000
  await page.goto(callback(late))
  await signedInAt(page, '/ns/default/segments')
})

await t.test('the provider asks for credentials after signing out or after a refusal', { skip }, async (t) => {
  const world = await withEveryWay(t, { 'authorization.unmatched': 'refuse' })
  const { page } = await openBrowser(t, world.service)
  const prompts = promptsOf(page)
  const back = callback(await leave(page, world))
  await page.goto(back)
  await page.getByRole('alert').getByText('You are known, but no rule gives you access.').waitFor()
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  await page.getByText('Provider', { exact: true }).waitFor()
  t.strictSame(prompts, [null, 'login'], 'after a refusal')

  const open = await withEveryWay(t)
  const { page: other } = await openBrowser(t, open.service)
  const later = promptsOf(other)
  for (let n = 0; n < 2; n++) {
    await other.goto(callback(await leave(other, open)))
    await signedInAt(other, '/settings/preferences')
    await other.getByRole('button', { name: /^Account: / }).click()
    await other.getByRole('menuitem', { name: /^Sign out/ }).click()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  }
  t.strictSame(later, [null, 'login'], 'after a sign-out')
})
