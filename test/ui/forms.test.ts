import t from 'tap'
import { openTab, signedIn, skip, withSession } from './browser.ts'
import { button, field, N, openReview, path, review, said, save, withVariantFlag } from './flag-page.ts'

await t.test('the key that follows a name has plain letters in place of those with marks', { skip }, async (t) => {
  const { page } = await signedIn(t, '/ns/default/flags/new')
  for (const [name, key] of [
    ['Café Größe ñandú', 'cafe-grosse-nandu'],
    ['My Żółta Flag.2', 'my-zolta-flag-2'],
    ['Ærø Œuvre İstanbul', 'aero-oeuvre-istanbul'],
    ['Флаг', ''],
  ] as const) {
    await field(page, 'Name').fill(name)
    t.equal(await field(page, 'Key').inputValue(), key, name)
  }
})

await t.test(
  'fields lose the blanks at the ends of what was typed, unless they have a meaning',
  { skip },
  async (t) => {
    const { page, service } = await withSession(t)
    await service.request('POST', `${N}/segments`, { key: 'beta', name: 'Beta' })
    const kept = { type: 'STRING_COMPARISON_TYPE', property: 'plan', operator: 'eq', value: ' old ' }
    await service.request('POST', `${N}/segments/beta/constraints`, kept)
    await page.goto('/ns/default/segments/beta')
    const row = (n: number) =>
      page
        .getByRole('listitem')
        .filter({ has: page.getByLabel('Property') })
        .nth(n)
    const valueOf = (n: number) => row(n).getByRole('textbox', { name: 'Value', exact: true })
    await valueOf(0).focus()
    await valueOf(0).blur()
    t.equal(await valueOf(0).inputValue(), ' old ', 'what was stored stays until it is changed')
    for (const [n, operator] of [
      [1, 'is'],
      [2, 'begins with'],
    ] as const) {
      await button(page, 'Add constraint').click()
      await row(n).getByRole('textbox', { name: 'Property' }).fill(' plan ')
      await row(n).getByRole('combobox', { name: 'Operator' }).selectOption({ label: operator })
      await valueOf(n).fill('  pro ')
      await valueOf(n).blur()
    }
    t.equal(await valueOf(1).inputValue(), 'pro')
    await openReview(page)
    await save(page)
    await said(page, '2 changes saved.')
    const { json } = await service.request<{ constraints: readonly object[] }>('GET', `${N}/segments/beta`)
    t.match(json.constraints, [
      { value: ' old ' },
      { property: 'plan', operator: 'eq', value: 'pro' },
      { property: 'plan', operator: 'prefix', value: '  pro ' },
    ])

    await page.goto('/ns/default/segments/new')
    await field(page, 'Name').fill(' Staff ')
    await field(page, 'Key').fill(' staff ')
    await page.keyboard.press('Enter')
    await said(page, 'Segment staff created.')
    await page.goto('/ns/default/segments')
    await page.getByRole('searchbox', { name: 'Search segments' }).fill(' staff ')
    await page.getByRole('link', { name: 'Beta' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Staff' }).waitFor()
  },
)

await t.test('a form asks before the user leaves what was typed', { skip }, async (t) => {
  const { page } = await signedIn(t, '/ns/default/flags')
  const ask = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  const stays = async (typed: string) => {
    await page.evaluate('history.back()')
    await ask.getByRole('button', { name: 'Stay' }).click()
    await ask.waitFor({ state: 'detached' })
    t.equal(await field(page, 'Name').inputValue(), typed)
  }
  for (const [list, create] of [
    ['Flags', 'New flag'],
    ['Segments', 'New segment'],
  ] as const) {
    await page.getByRole('link', { name: list, exact: true }).click()
    await page.getByRole('link', { name: create }).first().click()
    await field(page, 'Name').fill('Long thought about')
    await stays('Long thought about')
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: new RegExp(`^${list}`), level: 1 }).waitFor()
  }
  for (const [page_, create] of [
    ['Namespaces', 'New namespace'],
    ['Static Tokens', 'New token'],
  ] as const) {
    await page.getByRole('link', { name: page_ }).click()
    await button(page, create).click()
    await field(page, 'Name').fill('typed')
    await stays('typed')
    await button(page, 'Cancel').click()
  }
  await page.getByRole('link', { name: 'Flags', exact: true }).click()
  await page.getByRole('heading', { name: /^Flags/, level: 1 }).waitFor()
})

await t.test('a review that is closed, refused or in conflict keeps its reason', { skip }, async (t) => {
  const { page, service } = await withVariantFlag(t, [], { forced: [412] })
  await openTab(page, 'About')
  await field(page, 'Description').fill('mine')
  const reason = review(page).getByRole('textbox', { name: 'Reason' })
  await openReview(page)
  await reason.fill('a long story')
  await button(review(page), 'Keep editing').click()
  await openReview(page)
  t.equal(await reason.inputValue(), 'a long story')
  await service.request('PUT', `${N}/flags/f`, { name: 'Flag f', metadata: { owner: 'x' } })
  await save(page)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Keep my changes' }).click()
  await openReview(page)
  t.equal(await reason.inputValue(), 'a long story')
  await save(page)
  await said(page, '1 change saved.')
  await field(page, 'Description').fill('next')
  await openReview(page)
  t.equal(await reason.inputValue(), '', 'the next change has a reason of its own')
  t.equal(new URL(page.url()).pathname, path)
})
