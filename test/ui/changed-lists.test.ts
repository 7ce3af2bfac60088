import t from 'tap'
import { signedIn, skip, withSession } from './browser.ts'
import { button, field, N, openReview, review } from './flag-page.ts'

const builds = Array.from({ length: 99 }, (_, n) => `build-${n}`)

await t.test('a changed list is shown by the values that differ', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  await service.request('POST', `${N}/segments`, { key: 'beta', name: 'Beta' })
  const body = { type: 'STRING_COMPARISON_TYPE', property: 'build', operator: 'isoneof' }
  const constraints = `${N}/segments/beta/constraints`
  const { json } = await service.request<{ id: string }>('POST', constraints, {
    ...body,
    value: JSON.stringify(builds),
  })
  const { headers } = await service.request('PUT', `${constraints}/${json.id}`, {
    ...body,
    value: JSON.stringify([...builds.slice(1), 'build-4711']),
  })
  const position = Number(headers['event-position'])
  await page.goto(`/history/${position}`)
  const changes = page.getByRole('list', { name: 'Changes' })
  await changes.getByText('Changed, 98 unchanged').waitFor()
  t.match(await changes.innerText(), /Before\s*−\s*build-0\s*After\s*\+\s*build-4711$/)

  await page.goto(`/history/compare?ns=default&a=${position - 1}&b=${position}`)
  const difference = page.getByRole('listitem').filter({ hasText: 'build-4711' }).last()
  t.match(await difference.innerText(), /98 unchanged\s*− "build-0"\s*\+ "build-4711"$/)

  await page.goto('/ns/default/segments/beta')
  await field(page, 'Value').fill('build-5')
  await page.keyboard.press('Enter')
  await field(page, 'Value').fill('build-new')
  await page.keyboard.press('Enter')
  await openReview(page)
  const line = review(page).getByRole('list', { name: 'Changes' })
  t.match(
    await line.innerText(),
    /− .* is one of 99 unchanged values\n\+ .* is one of “build-new”, 99 unchanged values$/,
  )
  t.notMatch(await line.innerText(), /build-4711/)
  await button(review(page), 'Keep editing').click()
})

await t.test('sentences of the history show times in the time zone of the page', { skip }, async (t) => {
  const { page, service } = await signedIn(t, '/history', {}, { context: { timezoneId: 'America/Los_Angeles' } })
  await service.request('POST', '/auth/v1/method/token', {
    name: 'until 2031-06-10T05:30:00Z',
    expiresAt: '2031-06-10T05:30:00Z',
  })
  const summary = page.getByRole('button', { name: /issued.*expires/ }).first()
  await page.reload()
  await summary.waitFor()
  t.match(await summary.innerText(), /"until 2031-06-10T05:30:00Z" issued.* expires 9 Jun 2031, 22:30$/)
})
