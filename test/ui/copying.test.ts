import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { granted } from '../http/granted.ts'
import { comesTo, openBrowser, signIn, skip, TOKEN } from './browser.ts'
import { type Started, startService } from './service.ts'

const FORCED = { forced: [401, 403, 500] }

/** Clipboard failures: it refuses, or is missing. */
const clipboards = {
  refusing: `navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))`,
  missing: `Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`,
}

type Place = {
  readonly thing: string
  /** Opens the page and returns the copy button and the text that must be selected. */
  readonly open: (page: Page, service: Started) => Promise<{ readonly copy: Locator; readonly text: RegExp }>
  readonly token?: (service: Started) => Promise<string>
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const failing = async (page: Page) => {
  await page.route('**/auth/v1/tokens?*', (route) =>
    route.fulfill({
      status: 500,
      json: { code: 13, message: 'no', details: [{ value: { reason: 'internal', metadata: { requestId: 'req-1' } } }] },
    }),
  )
  await page.goto('/settings/tokens')
}
const asViewer = async (service: Started) => (await granted(service, { role: 'viewer' })).clientToken

const places: Readonly<Record<string, Place>> = {
  'the id of a request that failed': {
    thing: 'request id',
    open: async (page) => {
      await failing(page)
      return { copy: page.getByRole('alert').getByRole('button', { name: 'Copy request id' }), text: /^req-1$/ }
    },
  },
  'the id of a sign-in that failed': {
    thing: 'request id',
    open: async (page) => {
      await page.goto('/login?error=id_token_invalid&ref=req-2')
      return { copy: button(page, 'Copy request id'), text: /^req-2$/ }
    },
  },
  'a token that was made': {
    thing: 'token',
    open: async (page) => {
      await page.goto('/settings/tokens')
      await button(page, 'New token').click()
      await page.getByRole('textbox', { name: 'Name' }).fill('copied')
      await page.getByRole('combobox', { name: 'Role' }).selectOption('viewer')
      await button(page, 'Create token').click()
      return { copy: button(page, 'Copy token'), text: /^rct_\w{49}$/ }
    },
  },
  'an evaluation as a line of curl': {
    thing: 'curl command',
    open: async (page) => {
      await page.goto('/ns/default/evaluate?flag=f&entity=e')
      await button(page, 'Evaluate').click()
      return { copy: button(page, 'Copy as curl'), text: /^curl -sS / }
    },
  },
  'a message to an administrator': {
    thing: 'message to an administrator',
    token: asViewer,
    open: async (page) => {
      await page.goto('/settings/tokens')
      return { copy: button(page, 'Copy a message to an administrator'), text: /^Please give granted \(.*token\.read/ }
    },
  },
}

/** Selected text of the focused field. */
const selected = (page: Page) =>
  page.evaluate<string>(
    `(({ value = '', selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)`,
  )

for (const [what, { thing, open, token }] of Object.entries(places))
  await t.test(`${what} is copied, or selected if the clipboard fails`, { skip }, async (t) => {
    const service = await startService(t, {
      'authentication.methods.token.bootstrap.token': TOKEN,
      'rate_limit.enabled': 'false',
    })
    await maker(service).boolean('f')
    const secret = (await token?.(service)) ?? TOKEN
    for (const [name, script] of Object.entries(clipboards)) {
      const { page, context } = await openBrowser(t, service, FORCED)
      await context.addInitScript(script)
      await signIn(page, '/settings/preferences', secret)
      const { copy, text } = await open(page, service)
      await copy.click()
      await page.getByText(`Not copied. The ${thing} is selected: press Ctrl+C.`).waitFor()
      t.match(await selected(page), text, name)
      await context.close()
    }
    const { page } = await openBrowser(t, service, { ...FORCED, clipboard: true })
    await signIn(page, '/settings/preferences', secret)
    const { copy, text } = await open(page, service)
    await copy.click()
    await page.getByText('Copied.', { exact: true }).waitFor()
    t.match(await page.evaluate('navigator.clipboard.readText()'), text)
  })

await t.test('if copying fails, each click selects the text again', { skip }, async (t) => {
  const service = await startService(t, {
    'authentication.methods.token.bootstrap.token': TOKEN,
    'rate_limit.enabled': 'false',
  })
  const { page, context } = await openBrowser(t, service, FORCED)
  await context.addInitScript(clipboards.missing)
  await signIn(page, '/settings/preferences')
  await failing(page)
  const copy = page.getByRole('button', { name: 'Copy request id' })
  for (let n = 0; n < 2; n++) {
    await copy.click()
    await comesTo(t, () => selected(page), 'req-1')
  }
  // Close the window because the script stays in it.
  await context.close()
})
