import t from 'tap'
import { becomesTrue, signedIn, skip } from './browser.ts'
import { focused, tabTo } from './focus.ts'

await t.test('a tooltip is shown only for the element with the focus or under the mouse', { skip }, async (t) => {
  const { page, service } = await signedIn(t, '/ns/default/flags')
  for (const key of ['one', 'two']) {
    const made = await service.request('POST', '/api/v1/namespaces/default/flags', {
      key,
      name: key,
      type: 'BOOLEAN_FLAG_TYPE',
    })
    t.equal(made.status, 200)
  }
  await page.reload()
  const timeOf = (key: string) =>
    page
      .getByRole('row', { name: key })
      .getByRole('link')
      .filter({ has: page.getByRole('time') })
  const [one, two] = [timeOf('one'), timeOf('two')]
  await one.waitFor()
  const tips = page.getByText(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d \(UTC\)$/)
  t.equal(await tips.count(), 0)

  await tabTo(page, 'one', 'link')
  await page.keyboard.press('Tab')
  await focused(page, one)
  await tips.waitFor()
  t.equal(await tips.textContent(), await one.getAttribute('aria-description'))
  await page.keyboard.press('Escape')
  await tips.waitFor({ state: 'detached' })
  await focused(page, one)

  await two.hover()
  await tips.waitFor()
  await tips.hover()
  await becomesTrue(page, `document.querySelector('.tip:hover') !== null`)
  await page.getByRole('heading', { level: 1 }).hover()
  await tips.waitFor({ state: 'detached' })

  await two.hover()
  await tips.waitFor()
  await page.getByRole('link', { name: 'two', exact: true }).press('Enter')
  await page.getByRole('heading', { name: 'two', level: 1 }).waitFor()
  await tips.waitFor({ state: 'detached' })
})
