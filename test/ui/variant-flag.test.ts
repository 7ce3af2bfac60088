import type { Page } from 'playwright-core'
import t from 'tap'
import { comesTo, openBrowser, signIn, skip } from './browser.ts'
import { sentInSilence, withFates } from './fates.ts'
import { button, field, N, openReview, path, review, said, save, withVariantFlag } from './flag-page.ts'

const weight = (page: Page, key: string) => field(page, `Weight of ${key}`)
const weights = async (page: Page, of: Readonly<Record<string, string>>) => {
  for (const [key, text] of Object.entries(of)) await weight(page, key).fill(text)
}
const gives = (page: Page, kind: string) =>
  page.getByRole('radiogroup', { name: 'Gives' }).getByRole('radio', { name: kind }).check()
const segment = async (page: Page, key: string) => {
  await page.getByRole('combobox', { name: 'Segment', exact: true }).fill(key)
  await page.getByRole('option', { name: key }).click()
}
const addVariant = async (page: Page, of: Readonly<Record<string, string>>) => {
  await button(page, 'Add variant').click()
  for (const [name, text] of Object.entries(of)) await field(page, name).fill(text)
}
const invalidHasFocus = (page: Page) => page.locator('[aria-invalid=true]:focus').waitFor()
/** Creates variants with these keys, which are also their refs. */
const variants = (...keys: readonly string[]) => keys.map((key) => ({ op: 'variant.create', ref: key, key }))
const rule = (segmentKey: string, shares: Readonly<Record<string, number>>, ref = 'rule') => ({
  op: 'rule.create',
  ref,
  segmentKey,
  distributions: Object.entries(shares).map(([variantId, rollout]) => ({ variantId, rollout })),
})

const attachment = String.raw`{"a":1,"a":2,"big":12345678901234567890.12345678901234567890,"far":1E400,"e":"\u00e9","x":-0}`

await t.test('three variants with weights, default and attachment are saved with one request', { skip }, async (t) => {
  const { page, flag, rules } = await withVariantFlag(t)
  const writes: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/changes')) writes.push(request.postData() ?? '')
  })
  await page.getByRole('radiogroup', { name: 'State' }).getByRole('radio', { name: 'On' }).check()
  await addVariant(page, { Key: 'red', Name: 'Red' })
  await addVariant(page, { Key: 'green', Attachment: attachment })
  await addVariant(page, { Key: 'blue', Description: 'as the sky' })
  await page.getByRole('combobox', { name: 'Default variant' }).selectOption('blue')
  await button(page, 'Add rule').click()
  await segment(page, 'beta')
  await gives(page, 'Weights')
  await weights(page, { red: '40', green: '33.33', blue: '33.33' })
  await page.getByText('The weights add up to 106.66 %: at most 100.').waitFor()
  await button(page, 'Review changes').click()
  await invalidHasFocus(page)
  await weight(page, 'red').fill('abc')
  await page.getByText('Enter a number from 0 to 100.').waitFor()
  t.equal(await review(page).count(), 0, 'what is wrong is not reviewed')
  await button(page, 'Even split').click()
  for (const [key, text] of [
    ['red', '33.4'],
    ['green', '33.3'],
    ['blue', '33.3'],
  ] as const)
    t.equal(await weight(page, key).inputValue(), text, key)
  t.equal(await page.getByText('get no variant.').count(), 0)
  await weights(page, { red: '33.34', green: '33.33', blue: '33.33' })
  await page.getByText('0.1 % of the entities that match get no variant.').waitFor()
  await page.getByText('Applications that evaluate by themselves give all entities').waitFor()
  const rest = async (given: Record<string, string>, wanted: Record<string, string>) => {
    await weights(page, given)
    await button(page, 'Add the rest').click()
    for (const [key, text] of Object.entries(wanted)) t.equal(await weight(page, key).inputValue(), text, key)
    t.equal(await page.getByText('get no variant.').count(), 0)
  }
  await rest({}, { red: '33.3', green: '33.3', blue: '33.4' })
  await rest({ red: '10', green: '', blue: '' }, { red: '10', green: '90', blue: '' })
  await weights(page, { red: '33.33', green: '33.33', blue: '33.33' })
  await page.getByRole('heading', { name: 'Segment beta → 33.33 % red, 33.33 % green, 33.33 % blue' }).waitFor()
  t.equal(writes.length, 0, 'nothing is sent before it is saved')
  await openReview(page)
  t.equal(await review(page).getByRole('list', { name: 'Changes' }).getByRole('listitem').count(), 6)
  await save(page)
  await said(page, '6 changes saved.')
  t.equal(writes.length, 1)
  const saved = await flag()
  t.match(saved, { enabled: true, defaultVariant: { key: 'blue' } })
  t.equal(saved.variants.find(({ key }) => key === 'green')!.attachment, attachment, 'the attachment is as written')
  const keys = new Map(saved.variants.map(({ id, key }) => [id, key]))
  const [only] = await rules()
  t.equal(only!.segmentKey, 'beta')
  t.strictSame(
    only!.distributions.map(({ variantId, rollout }) => [keys.get(variantId), rollout]),
    [
      ['red', 33.33],
      ['green', 33.33],
      ['blue', 33.33],
    ],
  )

  await page.reload()
  await button(page, 'Edit green').click()
  t.equal(await field(page, 'Attachment').inputValue(), attachment)
  await field(page, 'Name').fill('Green')
  await openReview(page)
  await save(page)
  await said(page, '1 change saved.')
  t.match(
    (await flag()).variants.find(({ key }) => key === 'green'),
    { name: 'Green', attachment },
  )
  t.notMatch(writes[1], 'attachment', 'what stays as it is is not sent')
})

await t.test('the review shows the distribution of each rule before and after the change', { skip }, async (t) => {
  const { page, change, refs } = await withVariantFlag(t, [
    { op: 'flag.update', enabled: true },
    ...variants('red', 'green'),
    rule('beta', { red: 50, green: 25 }),
    rule('staff', {}, 'empty'),
  ])
  const effect = async (name: string) => {
    const figure = review(page).getByRole('figure', { name, exact: true })
    const places = await figure.getByRole('term').allInnerTexts()
    const shares = await figure.getByRole('definition').allInnerTexts()
    const bars = figure.locator('.portions')
    const drawn: (string | undefined)[][] = []
    for (const bar of await bars.all()) {
      const pieces = await bar.locator('span').all()
      const styles = await Promise.all(pieces.map((piece) => piece.getAttribute('style')))
      drawn.push(styles.map((style) => /^flex-grow: ([\d.]+);$/.exec(style ?? '')?.[1]))
    }
    return { said: places.map((place, n) => `${place}: ${shares[n]!.replaceAll('\n', ', ')}`), drawn }
  }
  const reviewed = async () => {
    await openReview(page)
    const [before, after] = [await effect('Answers now'), await effect('Answers after saving')]
    await button(page, 'Keep editing').click()
    await review(page).waitFor({ state: 'detached' })
    return { before, after }
  }
  await page.getByRole('combobox', { name: 'Default variant' }).selectOption('green')
  await button(page, 'Edit rule 1').click()
  await weights(page, { red: '12.5' })
  t.strictSame(await reviewed(), {
    before: {
      said: [
        'Rule 1: 50 % red, 25 % green, 25 % no variant',
        'Rule 2: 100 % no variant',
        'Otherwise: 100 % no variant',
      ],
      drawn: [['50', '25', '25'], ['100'], ['100']],
    },
    after: {
      said: [
        'Rule 1: 12.5 % red, 25 % green, 62.5 % default green',
        'Rule 2: 100 % default green',
        'Otherwise: 100 % default green',
      ],
      drawn: [['12.5', '25', '62.5'], ['100'], ['100']],
    },
  })
  await page.getByRole('radiogroup', { name: 'State' }).getByRole('radio', { name: 'Off' }).check()
  t.strictSame((await reviewed()).after, { said: ['Every entity: 100 % default green'], drawn: [['100']] })
  await button(page, 'Discard changes').click()
  await change({ op: 'variant.update', id: refs['red'], key: 'crimson' }, { op: 'rule.delete', id: refs['empty'] })
  await page.reload()
  await button(page, 'Delete crimson').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete variant' }).click()
  t.strictSame(await reviewed(), {
    before: {
      said: ['Rule 1: 50 % crimson, 25 % green, 25 % no variant', 'Otherwise: 100 % no variant'],
      drawn: [['50', '25', '25'], ['100']],
    },
    after: {
      said: ['Rule 1: 25 % green, 75 % no variant', 'Otherwise: 100 % no variant'],
      drawn: [['25', '75'], ['100']],
    },
  })
})

await t.test('errors of a variant are shown next to their fields', { skip }, async (t) => {
  const { page, flag } = await withVariantFlag(t, variants('red'))
  await addVariant(page, { Key: '', Attachment: '{"a": 1,\n "b": oh}' })
  await page.getByText('This is not JSON: a value is expected, line 2, column 7.').waitFor()
  const wrong = async (words: string) => {
    await button(page, 'Review changes').click()
    await page.getByText(words).waitFor()
    await invalidHasFocus(page)
  }
  await wrong('Give the variant a key.')
  await field(page, 'Key').fill('red')
  await wrong('This key is taken in this flag.')
  await field(page, 'Key').fill('x'.repeat(256))
  await wrong('At most 255 characters; this has 256.')
  await field(page, 'Key').fill('green')
  await wrong('This is not JSON')
  await field(page, 'Attachment').fill(JSON.stringify('ü'.repeat(512_000)))
  await wrong('At most 1,000 KB.')
  t.equal((await flag()).variants.length, 1, 'nothing was sent')
  await field(page, 'Attachment').fill('')
  await button(page, 'Add rule').click()
  await wrong('Choose a segment.')
  await button(page, 'Delete rule 1').click()
  await openReview(page)
  await save(page)
  await said(page, '1 change saved.')
  t.strictSame(
    (await flag()).variants.map(({ key }) => key),
    ['red', 'green'],
  )
})

await t.test('a variant in use is deleted with its uses after a warning', { skip }, async (t) => {
  const { page, flag, rules } = await withVariantFlag(t, [
    ...variants('red', 'green', 'blue'),
    rule('beta', { red: 50, green: 50 }),
    { op: 'flag.update', defaultVariantId: 'red' },
  ])
  await button(page, 'Delete blue').click()
  await page.getByRole('rowheader', { name: 'blue' }).waitFor({ state: 'detached' })
  await button(page, 'Delete red').click()
  const ask = page.getByRole('alertdialog', { name: 'Delete variant red?' })
  await ask.getByText('Rule 1 uses it: its weight is deleted too.').waitFor()
  await ask.getByText('It is the default variant: the flag then has no default.').waitFor()
  await ask.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('rowheader', { name: 'red' }).waitFor()
  await button(page, 'Delete red').click()
  await ask.getByRole('button', { name: 'Delete variant' }).click()
  await page.getByRole('heading', { name: 'Segment beta → 50 % green' }).waitFor()
  await addVariant(page, { Key: 'red' })
  await openReview(page)
  await save(page)
  await said(page, '5 changes saved.')
  const { variants: left, defaultVariant } = await flag()
  t.strictSame([left.map(({ key }) => key), defaultVariant], [['green', 'red'], undefined])
  t.match(
    (await rules())[0]!.distributions.map(({ rollout }) => rollout),
    [50],
  )
})

await t.test('rules can be moved, edited and deleted like rollouts', { skip }, async (t) => {
  const { page, rules } = await withVariantFlag(t, [
    ...variants('red', 'green'),
    rule('beta', { red: 100 }, 'one'),
    rule('staff', { green: 100 }, 'two'),
    rule('beta', { green: 20 }, 'three'),
  ])
  await button(page, 'Move rule 1 down').click()
  await said(page, 'Rule moved to position 2 of 3.')
  const focused = () => page.evaluate(`document.activeElement.getAttribute('aria-label')`)
  await comesTo(t, focused, 'Move rule 2 down', 'the focus moves along')
  await page.keyboard.press('Alt+ArrowDown')
  await said(page, 'Rule moved to position 3 of 3.')
  await button(page, 'Move rule 2 to…').click()
  await page.getByRole('combobox', { name: 'Position' }).selectOption('1')
  await button(page, 'Move').click()
  await said(page, 'Rule moved to position 1 of 3.')
  await page.getByRole('heading', { name: 'Rules' }).click()
  await page.keyboard.press('e')
  await page.getByText('80 % of the entities that match get no variant.').waitFor()
  await gives(page, 'One variant')
  await page.getByRole('combobox', { name: 'Variant', exact: true }).selectOption('red')
  await button(page, 'Delete rule 2').click()
  await openReview(page)
  t.equal(await review(page).getByText('Order of the rules').count(), 1)
  await save(page)
  await said(page, '3 changes saved.')
  t.match(await rules(), [
    { segmentKey: 'beta', distributions: [{ rollout: 100 }] },
    { segmentKey: 'beta', distributions: [{ rollout: 100 }] },
  ])
})

await t.test('a change that conflicts is merged, and changes that no longer apply are listed', { skip }, async (t) => {
  const { page, flag, rules, change, refs } = await withVariantFlag(
    t,
    [...variants('red', 'green', 'blue'), rule('beta', { red: 50, green: 50 })],
    { forced: [401, 412] },
  )
  await button(page, 'Edit red').click()
  await field(page, 'Name').fill('Crimson')
  await page.getByRole('combobox', { name: 'Default variant' }).selectOption('blue')
  await button(page, 'Edit rule 1').click()
  await weights(page, { red: '20', green: '30', blue: '10' })
  await change(
    { op: 'variant.delete', id: refs['blue'] },
    { op: 'variant.update', id: refs['red'], description: 'theirs' },
    { op: 'variant.create', ref: 'new', key: 'yellow' },
    rule('staff', { new: 100 }),
  )
  await openReview(page)
  await save(page)
  const ask = page.getByRole('alertdialog', { name: 'This flag was changed meanwhile' })
  await ask.getByText('Segment staff → 100 % yellow').waitFor()
  await ask.getByText('Segment beta → 20 % red, 30 % green, 10 % blue').waitFor()
  await ask.getByRole('button', { name: 'Keep my changes' }).click()
  const left = page.getByRole('alert')
  await left.getByText('Left out, because it does not fit any more:').waitFor()
  await left.getByText('Weight of blue in: Segment beta → 20 % red, 30 % green, 10 % blue').waitFor()
  await left.getByText('Default variant: blue').waitFor()
  await openReview(page)
  await save(page)
  await said(page, '2 changes saved.')
  t.match(await flag(), {
    variants: [{ key: 'red', name: 'Crimson', description: 'theirs' }, { key: 'green' }, { key: 'yellow' }],
  })
  t.match(await rules(), [
    { segmentKey: 'beta', distributions: [{ rollout: 20 }, { rollout: 30 }] },
    { segmentKey: 'staff', distributions: [{ rollout: 100 }] },
  ])
})

await t.test('a failed save of a variant flag keeps the draft, and trying again saves it once', { skip }, async (t) => {
  const { page, flag, rules } = await withVariantFlag(t, [], { forced: [0, 401, 403, 500, 503] })
  await withFates(page, '**/flags/f/changes', [403, 500, 503, 'dropped', 'lost'])
  await addVariant(page, { Key: 'red', Attachment: attachment })
  await button(page, 'Add rule').click()
  await segment(page, 'beta')
  await openReview(page)
  await save(page)
  const alert = review(page).getByRole('alert')
  await alert.getByText('Nothing was saved').waitFor()
  await alert.getByText('no: 403').waitFor()
  for (const _ of [500, 503, 'dropped', 'lost']) {
    await save(page)
    await alert.getByText('It is not known whether this was done.').waitFor()
    t.ok(await page.getByText('2 changes not saved').count(), 'the draft is there')
  }
  await save(page)
  await said(page, '2 changes saved.')
  const { variants: made } = await flag()
  t.equal(made.length, 1, 'it was done once')
  t.equal(made[0]!.attachment, attachment)
  t.equal((await rules()).length, 1)
})

await t.test('saving in progress is shown for 10 s, and a second click does nothing', { skip }, async (t) => {
  const { page, flag } = await withVariantFlag(t, variants('red'))
  await addVariant(page, { Key: 'green' })
  await openReview(page)
  const inReview = (name: string) => review(page).getByRole('button', { name })
  await sentInSilence(t, page, '**/flags/f/changes', inReview('Save changes'), inReview('Saving…'))
  await said(page, '1 change saved.')
  t.equal((await flag()).variants.length, 2)
})

await t.test('names of variants and attachments are shown as plain text', { skip }, async (t) => {
  const names = ['<img src=x onerror="document.title=\'run\'">', '{{7*7}}', 'a\u202eb', 'ü'.repeat(255)]
  const { page, flag } = await withVariantFlag(t, [
    ...names.map((name, n) => ({
      op: 'variant.create',
      ref: `v${n}`,
      key: name,
      name,
      description: name,
      attachment: JSON.stringify(name),
    })),
    rule('beta', Object.fromEntries(names.map((_, n) => [`v${n}`, 25]))),
    { op: 'flag.update', name: names[2], defaultVariantId: 'v2' },
  ])
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 })
    await page.getByRole('heading', { name: 'aU+202Eb', level: 1 }).waitFor()
    for (const name of [names[0]!, names[1]!, 'aU+202Eb', names[3]!])
      await page.getByRole('rowheader', { name, exact: name !== 'aU+202Eb' }).waitFor()
    await button(page, 'Edit rule 1').click()
    for (const name of [names[0]!, names[1]!, 'aU+202Eb', names[3]!]) await weight(page, name).waitFor()
    const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
    t.equal(await page.evaluate(wide), false, `nothing makes the page scroll sideways at ${width} px`)
    await weight(page, names[1]!).fill('5')
    await openReview(page)
    await review(page).getByText(names[0]!).first().waitFor()
    t.equal(await page.evaluate(wide), false)
    await button(page, 'Keep editing').click()
    await button(page, 'Discard changes').click()
    await button(page, 'Edit rule 1').click()
  }
  await button(page, `Edit ${names[0]!}`).click()
  t.equal(await field(page, 'Attachment').inputValue(), JSON.stringify(names[0]))
  await field(page, 'Name').fill('<b>other</b>')
  await openReview(page)
  await field(page, 'Reason').fill(names[0]!)
  await save(page)
  await said(page, '1 change saved.')
  t.match((await flag()).variants[0], { key: names[0], name: '<b>other</b>' })
  t.equal(await page.getByRole('img').count(), 0)
  t.notMatch(await page.title(), /^run/)
})

await t.test('a flag can be copied as link, curl and command, and deleted from its menu', { skip }, async (t) => {
  const { page, service } = await withVariantFlag(t, [], { forced: [401, 404], clipboard: true })
  const pasted = () => page.evaluate('navigator.clipboard.readText()')
  await button(page, 'Copy key').click()
  await said(page, 'Copied.')
  t.equal(await pasted(), 'f')
  const pick = async (name: string) => {
    await button(page, 'More actions').click()
    await page.getByRole('menuitem', { name, exact: true }).click()
  }
  const copies = async (name: string, text: string) => {
    await pick(name)
    await said(page, 'Copied.')
    await comesTo(t, pasted, text, name)
  }
  await copies('Copy link', `${service.url}${path}`)
  await copies('Copy as curl', `curl -sS ${service.url}${N}/flags/f -H "Authorization: Bearer $TOKEN"`)
  await copies('Copy as command line', `rollcall flag get --address=${service.url} --namespace=default -- f`)
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))`)
  await pick('Copy link')
  await said(page, 'Not copied. The link is selected: press Ctrl+C.')
  await page
    .locator('input:focus')
    .and(page.getByRole('textbox', { name: 'link' }))
    .waitFor()
  t.equal(await page.evaluate('String(getSelection())'), `${service.url}${path}`)
  await pick('Evaluate')
  await page.getByRole('heading', { name: 'Evaluate', level: 1 }).waitFor()
  await page.waitForURL(/\/ns\/default\/evaluate\?flag=f$/)
  await page.goBack()
  await pick('Delete')
  await page.getByRole('alertdialog', { name: 'Delete flag f?' }).getByRole('button', { name: 'Delete flag' }).click()
  await said(page, 'Flag f deleted.')
  t.equal((await service.request('GET', `${N}/flags/f`)).status, 404)
})

await t.test('a variant flag at a past moment cannot be edited', { skip }, async (t) => {
  const { page, service, change } = await withVariantFlag(t, [
    { op: 'variant.create', ref: 'red', key: 'red', attachment },
    rule('beta', { red: 100 }),
    { op: 'flag.update', defaultVariantId: 'red' },
  ])
  const { headers } = await change(...variants('green'))
  await button(page, 'Edit red').waitFor()
  const { page: other } = await openBrowser(t, service)
  await signIn(other, `${path}?at=${Number(headers['event-position']) - 1}`)
  await other.getByText('Default variant: red').waitFor()
  t.equal(await other.getByRole('rowheader').count(), 1)
  for (const name of ['Add variant', 'Add rule', 'Edit rule 1', 'Delete red'])
    t.equal(await button(other, name).getAttribute('aria-disabled'), 'true', name)
  await button(other, 'Show red').click()
  await other.getByRole('region', { name: 'Variants' }).locator('pre').getByText(attachment).waitFor()
  await button(other, 'More actions').click()
  t.equal(await other.getByRole('menuitem', { name: 'Delete' }).getAttribute('aria-disabled'), 'true')
})
