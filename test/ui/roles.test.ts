import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { granted, withNamespaces } from '../http/granted.ts'
import { openBrowser, restOf, signIn, skip, TOKEN } from './browser.ts'
import { type Fields, type Started, startService } from './service.ts'
import { goWithin } from './within.ts'

const FORCED = { forced: [401, 403] }

const plain = async (t: Test): Promise<Started> => {
  const service = await startService(t, {
    'authentication.methods.token.bootstrap.token': TOKEN,
    'rate_limit.enabled': 'false',
  })
  await withNamespaces(service, 'shop')
  for (const ns of ['default', 'shop'])
    await service.request('POST', `/api/v1/namespaces/${ns}/flags`, {
      key: 'f',
      name: 'Flag f',
      type: 'BOOLEAN_FLAG_TYPE',
    })
  return service
}

let started: Promise<Started> | undefined
/** Returns the service that all tests of the file use. */
const shared = (): Promise<Started> => (started ??= plain(t))

const screens = [
  '/ns/default/flags',
  '/ns/shop/flags',
  '/ns/shop/flags/f',
  '/ns/shop/flags/new',
  '/ns/shop/segments',
  '/ns/shop/evaluate',
  '/access',
  '/settings/namespaces',
  '/settings/tokens',
  '/settings/sessions',
  '/settings/preferences',
]

/** Returns the refusals on a screen at rest. */
const refusedOn = async (
  page: Page,
  rest: () => Promise<void>,
  path: string,
  words: string | undefined,
): Promise<readonly string[]> => {
  await goWithin(page, path)
  await page.locator('main h1').filter({ hasNotText: 'No such page' }).first().waitFor()
  if (words !== undefined) await page.getByRole('main').getByText(words).first().waitFor()
  await rest()
  const whole = await page
    .locator('main', { has: page.getByRole('heading', { name: 'You may not see this', level: 1 }) })
    .allInnerTexts()
  return [...whole, ...(await page.getByRole('alert').allInnerTexts())]
}

const roles: Readonly<Record<string, { readonly asked: Fields; readonly refused: Readonly<Record<string, string>> }>> =
  {
    'a viewer of everything': {
      asked: { role: 'viewer' },
      refused: {
        '/access': 'It needs audit.read in every namespace.',
        '/settings/tokens': 'It needs token.read.',
        '/settings/sessions': 'It needs token.read.',
      },
    },
    'an editor of one namespace': {
      asked: { grants: [{ role: 'editor', namespaceKey: 'shop' }] },
      refused: {
        '/ns/default/flags': 'It needs flag.read in default.',
        '/access': 'It needs audit.read in every namespace.',
        '/settings/tokens': 'It needs token.read.',
        '/settings/sessions': 'It needs token.read.',
      },
    },
    'an auditor': { asked: { role: 'auditor' }, refused: {} },
    'a server': {
      asked: { role: 'server' },
      refused: {
        '/ns/default/flags': 'It needs flag.read in default.',
        '/ns/shop/flags': 'It needs flag.read in shop.',
        '/ns/shop/flags/f': 'It needs flag.read in shop.',
        '/ns/shop/segments': 'It needs segment.read in shop.',
        '/settings/namespaces': 'It needs namespace.read.',
        '/access': 'It needs audit.read in every namespace.',
        '/settings/tokens': 'It needs token.read.',
        '/settings/sessions': 'It needs token.read.',
      },
    },
  }

for (const [who, { asked, refused }] of Object.entries(roles))
  await t.test(`as ${who}, no page is broken, and missing rights are named`, { skip }, async (t) => {
    const service = await shared()
    const { clientToken, id } = await granted(service, asked)
    const { page } = await openBrowser(t, service, { ...FORCED, clipboard: true })
    const rest = restOf(page)
    await signIn(page, '/settings/preferences', clientToken)
    for (const path of screens) {
      const words = refused[path]
      const told = await refusedOn(page, rest, path, words)
      if (words === undefined) t.strictSame(told, [], path)
      else {
        t.ok(
          told.some((text) => text.includes('You may not see this') && text.includes(words)),
          `${path}: ${told.join()}`,
        )
        await page.getByRole('button', { name: 'Copy a message to an administrator' }).first().click()
        await page.getByText('Copied').first().waitFor()
        const message = String(await page.evaluate('navigator.clipboard.readText()'))
        t.match(message, `Please give granted (${id}) ${words.slice('It needs '.length)} I tried ${service.url}${path}`)
      }
    }
  })

await t.test('a user cannot sign in with a token that may only evaluate flags', { skip }, async (t) => {
  const service = await shared()
  const { clientToken } = await granted(service, { role: 'client' })
  const { page } = await openBrowser(t, service, FORCED)
  await page.goto('/')
  await page.getByLabel('Client token').fill(clientToken)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('This token may not be used for signing in.').waitFor()
})
