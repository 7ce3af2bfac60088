import type { Page } from 'playwright-core'
import t from 'tap'
import { OIDC, visit } from '../http/people.ts'
import { openBrowser, skip } from './browser.ts'
import { withEveryWay } from './ways.ts'

type World = Awaited<ReturnType<typeof withEveryWay>>

/** Leaves a tab for the provider, which waits; gives the address that the provider would send it back to. */
const leave = async (page: Page, { liar }: World, returnTo: string): Promise<string> => {
  await page.route(`${liar.url}/authorize*`, (route) => route.fulfill({ contentType: 'text/html', body: 'Provider' }))
  await page.goto(`/login?return_to=${encodeURIComponent(returnTo)}`)
  const asked = page.waitForRequest((request) => request.url().startsWith(`${liar.url}/authorize`))
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  const address = (await asked).url()
  await page.getByText('Provider', { exact: true }).waitFor()
  return `${OIDC}/callback?${String(await visit(new URL(address)))}`
}
const signedInAt = async (page: Page, path: string) => {
  await page.getByRole('button', { name: /^Account: / }).waitFor()
  await page.waitForURL(`**${path}`)
}

await t.test('two tabs sign in, each to its own page, whichever comes back first', { skip }, async (t) => {
  const world = await withEveryWay(t)
  const { page, newPage } = await openBrowser(t, world.service)
  const other = await newPage()
  const [first, second] = [
    await leave(page, world, '/settings/preferences'),
    await leave(other, world, '/ns/default/segments'),
  ]
  await other.goto(second)
  await signedInAt(other, '/ns/default/segments')
  await page.goto(first)
  await signedInAt(page, '/settings/preferences')
})

await t.test('who is signed in is not told of a sign-in that is over', { skip }, async (t) => {
  let ahead = 0
  const world = await withEveryWay(t, {}, { now: () => new Date(Date.now() + ahead) })
  const { page, newPage } = await openBrowser(t, world.service)
  const back = await leave(page, world, '/settings/preferences')
  const late = await leave(await newPage(), world, '/ns/default/segments')
  await page.goto(back)
  await signedInAt(page, '/settings/preferences')
  for (const way of ['used', 'of another browser'] as const) {
    await page.goto(way === 'used' ? back : `${OIDC}/callback?code=x&state=of-another-browser`)
    await page.getByRole('button', { name: /^Account: / }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0, way)
  }
  ahead = 11 * 60_000
  await page.goto(late)
  await signedInAt(page, '/ns/default/segments')
})

await t.test('who signed out, or was refused, is asked by the provider who they are', { skip }, async (t) => {
  const world = await withEveryWay(t, { 'authorization.unmatched': 'refuse' })
  const { page } = await openBrowser(t, world.service)
  const prompts: (string | null)[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname.endsWith('/authorize') && pathname.startsWith('/auth/')) prompts.push(searchParams.get('prompt'))
  })
  const back = await leave(page, world, '/settings/preferences')
  await page.goto(back)
  await page.getByRole('alert').getByText('You are known, but no rule gives you access.').waitFor()
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  await page.getByText('Provider', { exact: true }).waitFor()
  t.strictSame(prompts, [null, 'login'], 'after a refusal')

  const open = await withEveryWay(t)
  const { page: other } = await openBrowser(t, open.service)
  const later: (string | null)[] = []
  other.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname.endsWith('/authorize') && pathname.startsWith('/auth/')) later.push(searchParams.get('prompt'))
  })
  for (let n = 0; n < 2; n++) {
    await other.goto(await leave(other, open, '/settings/preferences'))
    await signedInAt(other, '/settings/preferences')
    await other.getByRole('button', { name: /^Account: / }).click()
    await other.getByRole('menuitem', { name: /^Sign out/ }).click()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  }
  t.strictSame(later, [null, 'login'], 'after a sign-out')
})
