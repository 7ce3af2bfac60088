import t from 'tap'
import { maker } from '../http/flags.ts'
import { signedIn, skip, withSession } from './browser.ts'
import { tokenNamed } from './ways.ts'

const path = '/settings/tokens'

await t.test(
  'the user chooses a past moment, sees it on every page, and returns to the present',
  { skip },
  async (t) => {
    const { page, service } = await signedIn(t, path, {}, { forced: [400, 401] })
    await tokenNamed(service, 'first')
    const { headers } = await service.request('POST', '/auth/v1/method/token', { name: 'second' })
    const position = String(headers['event-position'])
    await tokenNamed(service, 'third')
    await page.getByRole('button', { name: 'Time: now' }).click()
    const clock = page.getByRole('dialog', { name: 'Look at another moment' })
    await clock.getByRole('textbox', { name: 'Position' }).fill('99999999')
    await clock.getByRole('button', { name: 'Show this moment' }).click()
    await clock.getByRole('alert').getByText('at: ').waitFor()
    t.match(page.url(), /\/settings\/tokens$/, 'a moment that is refused leaves the page as it is')
    await clock.getByRole('textbox', { name: 'Position' }).fill(position)
    await clock.getByRole('button', { name: 'Show this moment' }).click()
    const region = page.getByRole('region', { name: 'Past' })
    await page.getByRole('rowheader', { name: 'second' }).waitFor()
    const then = (await service.request('GET', `/auth/v1/tokens?at=${position}`)).headers['as-of-time']
    const inWords = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'UTC',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }).format(new Date(String(then)))
    await region
      .getByText(`You see the state as of ${inWords} UTC (#${position}). Nothing can be changed here.`)
      .waitFor()
    await page.getByRole('rowheader', { name: 'second' }).waitFor()
    // Until the past is loaded, the list shows the present.
    await page.getByRole('rowheader', { name: 'third' }).waitFor({ state: 'detached' })
    const shown = await page.getByRole('rowheader').allTextContents()
    const { json } = await service.request<{ totalCount: number }>(
      'GET',
      `/auth/v1/tokens?method=METHOD_TOKEN&at=${position}`,
    )
    t.equal(shown.length, json.totalCount)
    for (const name of ['New token', 'Delete second'])
      t.equal(await page.getByRole('button', { name }).getAttribute('aria-disabled'), 'true', name)

    await page.getByRole('link', { name: 'Preferences' }).click()
    await page.getByRole('heading', { name: 'Preferences' }).waitFor()
    t.equal(new URL(page.url()).searchParams.get('at'), position, 'a link keeps it')
    await page.getByRole('link', { name: 'Static Tokens' }).click()
    await page.getByRole('searchbox', { name: 'Search tokens' }).fill('sec')
    await page.waitForURL(/q=sec/)
    t.equal(new URL(page.url()).searchParams.get('at'), position, 'a filter keeps it')
    await region.getByRole('button', { name: 'Back to now' }).click()
    await region.waitFor({ state: 'detached' })
    t.equal(new URL(page.url()).searchParams.get('at'), null)
    t.equal(new URL(page.url()).searchParams.get('q'), 'sec')
  },
)

await t.test('a past moment is shown in the chosen time zone, with its distance from now', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { forced: [400, 401] })
  await tokenNamed(service, 'ci-prod', { expiresAt: new Date(Date.now() + 86_400_000 * 3).toISOString() })
  const at = new Date(Date.now() + 60_000).toISOString()
  await page.goto(`${path}?at=${encodeURIComponent(at)}`)
  await page.getByRole('region', { name: 'Past' }).waitFor()
  await page.getByRole('alert').getByText('at: ').waitFor()
  await page.getByRole('button', { name: /^Time: \d/ }).click()
  await page.getByRole('button', { name: '1 hour ago' }).click()
  await page
    .getByRole('region', { name: 'Past' })
    .getByText(/ UTC \(#\d+\)\. Nothing can be changed here\.$/)
    .waitFor()
  await page.getByRole('heading', { name: 'No static tokens yet' }).waitFor()
})

await t.test('a day that does not exist is refused, and not shown as another day', { skip }, async (t) => {
  const day = '2026-02-30T10:00:00.000Z'
  const { page } = await signedIn(t, `/history?at=${day}`, {}, { forced: [400] })
  await page.getByRole('region', { name: 'Past' }).getByText(`You see the state as of ${day}`).waitFor()
  await page.getByText('This is not a date and time.').waitFor()
  await page.getByRole('button', { name: `Time: ${day}` }).click()
  const clock = page.getByRole('dialog', { name: 'Look at another moment' })
  t.equal(await clock.locator('input[type="datetime-local"]').inputValue(), '')
})

await t.test('the user steps through the events of the open page, by buttons and by keys', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { forced: [401, 404] })
  const make = maker(service)
  await make.boolean('checkout')
  await make.threshold('checkout', 25)
  await make.boolean('other')
  await make.updateFlag('checkout', { name: 'Renamed' })
  type Events = { readonly events: readonly { readonly position: string }[] }
  const asked = '/audit/v1/events?stream=flag-default%2Bcheckout'
  const positions = (await service.request<Events>('GET', asked)).json.events.map(({ position }) => position)
  t.equal(positions.length, 3)
  const at = (position: string) => page.waitForURL((url) => url.searchParams.get('at') === position)
  await page.goto('/ns/default/flags/checkout')
  await page.getByRole('button', { name: 'Time: now' }).click()
  const clock = page.getByRole('dialog', { name: 'Look at another moment' })
  await clock.getByRole('button', { name: 'Next event' }).click()
  await clock.getByRole('alert').getByText('There is no later event.').waitFor()
  const previous = clock.getByRole('button', { name: 'Previous event' })
  for (const position of positions.toReversed()) {
    await previous.click()
    await at(position)
    await clock
      .getByRole('textbox', { name: 'Position' })
      .and(clock.locator(`[value="${position}"]`))
      .waitFor()
  }
  await previous.click()
  await clock.getByRole('alert').getByText('There is no earlier event.').waitFor()
  await page.keyboard.press('Escape')
  await clock.waitFor({ state: 'detached' })
  await page.keyboard.press(']')
  await at(positions[1]!)
  await page.getByRole('heading', { name: '25 % of entities → true' }).waitFor()
  await page.keyboard.press('[')
  await at(positions[0]!)
  await page.getByText('Every entity gets the default.').waitFor()
  const region = page.getByRole('region', { name: 'Past' })
  await region.getByRole('button', { name: 'Compare with now' }).click()
  await page.getByRole('list', { name: 'Differences' }).getByText('"Renamed"').waitFor()
  t.equal(new URL(page.url()).searchParams.get('a'), positions[0])
  t.equal(new URL(page.url()).searchParams.get('at'), null)
})
