import type { Page } from 'playwright-core'
import t from 'tap'
import type { Started } from '../start.ts'
import { openBrowser, signIn, skip } from './browser.ts'
import { startService } from './service.ts'

const path = '/settings/tokens'

/**
 * Creates a token with the expiry that `choose` fills in; returns the line below the field and the expiry in the
 * record.
 */
const made = async (
  page: Page,
  { request }: Started,
  name: string,
  choose: (form: ReturnType<Page['getByRole']>) => Promise<unknown>,
) => {
  await page.getByRole('button', { name: 'New token' }).click()
  const form = page.getByRole('dialog', { name: 'New static token' })
  await form.getByRole('textbox', { name: 'Name' }).fill(name)
  await form.getByRole('combobox', { name: 'Role' }).selectOption({ label: 'Full access' })
  await choose(form)
  const line = (await form.getByText(/^Expires .* UTC$/).textContent()) ?? ''
  await form.getByRole('button', { name: 'Create token' }).click()
  const reveal = page.getByRole('dialog', { name: 'Token created' })
  await reveal.getByRole('checkbox', { name: 'I have stored this token' }).click()
  await reveal.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('rowheader', { name }).waitFor()
  const { json } = await request<{ authentications: readonly { expiresAt?: string }[] }>(
    'GET',
    `/auth/v1/tokens?kind=static&q=${name}`,
  )
  return { line, expiresAt: json.authentications[0]?.expiresAt }
}
const custom = (text: string) => async (form: ReturnType<Page['getByRole']>) => {
  await form.getByRole('combobox', { name: 'Expiration' }).selectOption('Custom date and time')
  await form.getByLabel(/^Expires at/).fill(text)
}

/** Parses the UTC instant in the second half of the line. */
const shownInstant = (line: string) => {
  const [, day, month, year, time] = /(?:· |^Expires )(\d+) (\w+) (\d{4}), (\d{2}:\d{2}) UTC$/.exec(line) ?? []
  return new Date(`${day} ${month} ${year} ${time} UTC`).toISOString().replace('.000Z', 'Z')
}

const zones: readonly (readonly [
  zone: string,
  entered: readonly (readonly [text: string, local: string, instant: string])[],
])[] = [
  [
    'America/Los_Angeles',
    [
      ['2031-06-10T09:30', '10 Jun 2031, 09:30 GMT-7', '2031-06-10T16:30:00Z'],
      // 9 March 2031: 02:00 is skipped. 2 November 2031: 01:00 to 02:00 occurs twice.
      ['2031-03-09T01:59', '9 Mar 2031, 01:59 GMT-8', '2031-03-09T09:59:00Z'],
      ['2031-03-09T02:30', '9 Mar 2031, 03:00 GMT-7', '2031-03-09T10:00:00Z'],
      ['2031-11-02T01:30', '2 Nov 2031, 01:30 GMT-7', '2031-11-02T08:30:00Z'],
    ],
  ],
  ['UTC', [['2031-06-10T09:30', '10 Jun 2031, 09:30 UTC', '2031-06-10T09:30:00Z']]],
  ['Asia/Tokyo', [['2031-06-10T09:30', '10 Jun 2031, 09:30 GMT+9', '2031-06-10T00:30:00Z']]],
]

await t.test('a token ends at the time that is shown, in any time zone', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  for (const [zone, entered] of zones) {
    const { page } = await openBrowser(t, service, { context: { timezoneId: zone } })
    await signIn(page, path)
    for (const [n, [text, local, instant]] of entered.entries()) {
      const name = `${zone.replace('/', '-')}-${n}`
      const { line, expiresAt } = await made(page, service, name, custom(text))
      t.equal(expiresAt, instant, `${text} in ${zone}: ${line}`)
      t.ok(line.startsWith(`Expires ${local}`), line)
      t.equal(shownInstant(line), instant, 'the line says the same')
      if (zone === 'UTC') t.equal(line, `Expires ${local}`, 'the moment is said once')
      else t.match(line, `(${zone})`)
    }
    await page.context().close()
  }
})

await t.test('30 days are 30 times 24 hours, even if the clocks change', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  const { page } = await openBrowser(t, service, { context: { timezoneId: 'America/Los_Angeles' } })
  await page.clock.setFixedTime(new Date('2031-02-20T17:45:50Z'))
  await page.route('**/*', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, headers: { ...answer.headers(), date: 'Thu, 20 Feb 2031 17:45:50 GMT' } })
  })
  await signIn(page, path)
  const { line, expiresAt } = await made(page, service, 'thirty', (form) =>
    form.getByRole('combobox', { name: 'Expiration' }).selectOption('30 days'),
  )
  t.equal(expiresAt, '2031-03-22T17:45:00Z', line)
  t.equal(line, 'Expires 22 Mar 2031, 10:45 GMT-7 (America/Los_Angeles) · 22 Mar 2031, 17:45 UTC')
})
