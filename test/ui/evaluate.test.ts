import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { maker } from '../http/flags.ts'
import { becomesTrue, type OpenOptions, skip, TOKEN, withSession } from './browser.ts'
import { gate } from './fates.ts'
import { focused, headed, tabTo } from './focus.ts'

const run = promisify(execFile)
const path = '/ns/default/evaluate'
const main = resolve(import.meta.dirname, '../../src/main.js')

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const answer = (page: Page) => page.getByRole('region', { name: 'Answer' })
const steps = (page: Page) => answer(page).getByRole('list', { name: 'Steps' }).getByRole('listitem')
const said = (page: Page, words: string) => answer(page).getByRole('status').getByText(words, { exact: true }).waitFor()
/** Answer of the flag: the first text of the region. */
const first = async (page: Page) => (await answer(page).innerText()).split('\n')[0]

/** Starts the page with a flag for paying testers and a quarter of all others. */
const withFlags = async (t: Test, options: OpenOptions = {}) => {
  const opened = await withSession(t, {}, options)
  const make = maker(opened.service)
  await make.segment('beta', [{ property: 'plan', operator: 'eq', value: 'beta' }])
  await make.segment('staff', [
    { property: 'email', operator: 'suffix', value: '@example.com' },
    { type: 'ENTITY_ID_COMPARISON_TYPE', property: 'entityId', operator: 'isoneof', value: '["ada","bob"]' },
  ])
  await make.boolean('checkout')
  await make.bySegment('checkout', { segmentKeys: ['beta', 'staff'] })
  await make.threshold('checkout', 12)
  await make.threshold('checkout', 100, false)
  return { ...opened, make }
}
const fillIn = async (page: Page, flag: string, entity: string) => {
  await page.getByRole('combobox', { name: 'Flag' }).fill(flag)
  await page.getByRole('option', { name: flag }).click()
  await page.getByRole('textbox', { name: 'Entity id' }).fill(entity)
}
const addRow = async (page: Page, n: number, property: string, value: string) => {
  await button(page, 'Add row').click()
  await page.getByRole('textbox', { name: `Property ${n}` }).fill(property)
  await page.getByRole('textbox', { name: `Value ${n}` }).fill(value)
}
const copied = async (page: Page, name: string): Promise<string> => {
  await page.evaluate('navigator.clipboard.writeText("")')
  await button(page, name).click()
  await page.getByRole('status').getByText('Copied.').waitFor()
  // The status may still be that of the previous copy.
  await becomesTrue(page, `navigator.clipboard.readText().then((text) => text !== '')`)
  return page.evaluate<string>('navigator.clipboard.readText()')
}
const search = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

await t.test(
  'the evaluation page evaluates only when its button is pressed, and explains the answer',
  { skip },
  async (t) => {
    const { page, service } = await withFlags(t)
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/evaluate/v1/')) asked.push(request.url())
    })
    await page.goto('/')
    await page.getByRole('link', { name: 'Evaluate' }).click()
    await page.getByRole('heading', { name: 'Evaluate', level: 1 }).waitFor()
    await page.getByText('Choose a flag and an entity, then evaluate.').waitFor()
    await button(page, 'Evaluate').click()
    await page.getByText('Choose a flag.').waitFor()
    await fillIn(page, 'checkout', 'user-42')
    await addRow(page, 1, 'plan', 'pro')
    t.strictSame(asked, [], 'no request while typing')
    await button(page, 'Evaluate').click()
    await said(page, 'false')
    await said(page, 'matched rollout 3')
    t.equal(await first(page), 'false')
    t.strictSame(search(page), { flag: 'checkout', entity: 'user-42', 'c.plan': 'pro' })
    const { json } = await service.request<{ trace: { bucket?: number }[] }>('POST', '/evaluate/v1/boolean?explain', {
      flagKey: 'checkout',
      entityId: 'user-42',
      context: { plan: 'pro' },
    })
    const bucket = json.trace[1]!.bucket!
    const [segments, share, rest] = await steps(page).allInnerTexts()
    t.match(segments, 'Segment beta or staff → true')
    t.match(segments, 'beta: plan is beta: it is “pro”')
    t.match(segments, 'staff: email ends with @example.com: it is not given')
    t.match(segments, 'staff: entity id is one of ada, bob: it is “user-42”')
    t.match(segments, /not matched$/)
    t.match(share, `bucket ${bucket} is not below 12`)
    t.match(rest, `bucket ${bucket} is below 100`)
    t.match(rest, /matched$/)

    await page.getByRole('textbox', { name: 'Value 1' }).fill('beta')
    await page.keyboard.press('Control+Enter')
    await said(page, 'matched rollout 1')
    t.equal(await first(page), 'true')
    t.match((await steps(page).allInnerTexts()).join('|'), /in beta.*\|2–3\s*not asked/s)
    t.equal(asked.length, 2)
    await page.goBack()
    await said(page, 'matched rollout 3')
    t.equal(await page.getByRole('textbox', { name: 'Value 1' }).inputValue(), 'pro')
    await page.reload()
    await said(page, 'matched rollout 3')
    await button(page, 'New entity id').click()
    t.match(await page.getByRole('textbox', { name: 'Entity id' }).inputValue(), /^[\da-f]{32}$/)
    t.equal(search(page)['entity'], 'user-42', 'the address is of what was asked')
  },
)

await t.test('the evaluation page explains each kind of answer of a variant flag', { skip }, async (t) => {
  const { page, make } = await withFlags(t)
  await make.segment('everybody')
  await make.variantFlag('ranking')
  const red = await make.variant('ranking', 'red', '{"a":1,"a":12345678901234567890}')
  const open = async (entity: string, plan: string) => {
    await page.goto(`${path}?flag=ranking&entity=${entity}&c.plan=${plan}`)
    await answer(page).getByRole('heading', { name: 'Steps' }).waitFor()
    return [await first(page), (await answer(page).getByRole('status').innerText()).split(/\n+/)[1]]
  }
  t.strictSame(await open('alice', 'x'), ['no match', 'no rule matched, and there is no default variant'])
  await make.rule('ranking', { segmentKey: 'beta' }, { [red]: 100 })
  t.strictSame(await open('alice', 'beta'), ['red', 'matched rule 1'])
  t.equal(
    await answer(page).locator('pre').innerText(),
    '{"a":1,"a":12345678901234567890}',
    'the attachment is as it was written',
  )
  t.match((await steps(page).allInnerTexts()).join(), /Segment beta → 100 % red\s+bucket \d+ is below 1000/)
  t.strictSame(await open('alice', 'x'), ['no match', 'no rule matched, and there is no default variant'])
  await make.updateFlag('ranking', { enabled: true, defaultVariantId: red })
  t.strictSame(await open('alice', 'x'), ['red', 'no rule matched: the default variant'])
  await make.updateFlag('ranking', { enabled: true, defaultVariantId: '' })
  await make.rule('ranking', { segmentKey: 'everybody' }, { [red]: 0.1 })
  t.strictSame(await open('alice', 'x'), ['no match', 'a rule matched, but no variant has this share'])
  await make.updateFlag('ranking', { enabled: false })
  t.strictSame(await open('alice', 'x'), ['no match', 'the flag is off'])
  t.match((await steps(page).allInnerTexts()).join(), /1–2\s*not asked/)
})

await t.test('the evaluation page evaluates a flag now and at the time before a change', { skip }, async (t) => {
  const { page, service, make } = await withFlags(t, { clipboard: true })
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-commands-'))
  t.teardown(() => rm(directory, { recursive: true }))
  await writeFile(join(directory, 'rollcall'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, {
    mode: 0o755,
  })
  const env = { ...process.env, TOKEN, ROLLCALL_TOKEN: TOKEN, PATH: `${directory}${delimiter}${process.env['PATH']}` }
  const shell = async (line: string) => (await run('sh', ['-c', line], { env })).stdout

  const { headers } = await service.request('GET', '/api/v1/namespaces/default/flags/checkout')
  t.ok(headers.etag)
  const { headers: made } = await service.request('POST', '/api/v1/namespaces/default/flags', { key: 'x', name: 'x' })
  const before = String(made['event-position'])
  const { json } = await service.request<{ rollouts: { id: string }[] }>(
    'GET',
    '/api/v1/namespaces/default/flags/checkout/rollouts',
  )
  await service.request('DELETE', `/api/v1/namespaces/default/flags/checkout/rollouts/${json.rollouts[0]!.id}`)
  await make.updateFlag('checkout', { enabled: true })

  const entity = `it's "a" $HOME \\ ü — 😀`
  await page.goto(path)
  await fillIn(page, 'checkout', entity)
  await addRow(page, 1, 'plan', 'beta')
  await addRow(page, 2, 'e-mail', 'ada@example.com')
  await page.getByRole('checkbox', { name: 'Private 2' }).check()
  await page.getByText('Private rows are left out of the address and of what is copied.').waitFor()
  await button(page, 'Evaluate').click()
  await said(page, 'false')
  t.strictSame(search(page), { flag: 'checkout', entity, 'c.plan': 'beta' })

  await button(page, 'At: now').click()
  const clock = page.getByRole('dialog', { name: 'Look at another moment' })
  await clock.getByRole('textbox', { name: 'Position' }).fill(before)
  await clock.getByRole('button', { name: 'Show this moment' }).click()
  await said(page, 'true')
  await page.getByRole('region', { name: 'Past' }).waitFor()
  t.equal(await page.getByRole('textbox', { name: 'Value 2' }).inputValue(), 'ada@example.com', 'what is private stays')
  const asOf = async (at: string) =>
    (
      await service.request<{ enabled: boolean; reason: string }>('POST', `/evaluate/v1/boolean${at}`, {
        flagKey: 'checkout',
        entityId: entity,
        context: { plan: 'beta', 'e-mail': 'ada@example.com' },
      })
    ).json
  t.match(await asOf(`?at=${before}`), { enabled: true })
  t.match(await asOf(''), { enabled: false })
  t.equal(await button(page, 'Evaluate').getAttribute('aria-disabled'), null, 'nothing is written by asking')
  await button(page, 'Evaluate').click()
  await said(page, 'true')
  t.equal(search(page)['at'], before)
  for (const name of ['Flags', 'Preferences'])
    t.match(await page.getByRole('link', { name, exact: true }).getAttribute('href'), `at=${before}`, 'links keep it')

  const [curl, command] = [await copied(page, 'Copy as curl'), await copied(page, 'Copy as command')]
  const link = await copied(page, 'Copy link')
  t.equal(link, page.url())
  for (const line of [curl, command, link]) t.notMatch(line, /e-mail|ada@|ada%40/, 'no private row')
  t.notMatch(curl, TOKEN)
  const byCurl = JSON.parse(await shell(curl)) as { readonly enabled: boolean; readonly trace: readonly unknown[] }
  t.match(byCurl, { enabled: true, reason: 'MATCH_EVALUATION_REASON' })
  t.equal(byCurl.trace.length, 1)
  t.match(await shell(command.replace('--explain', '--explain -o json')), /"enabled": ?true/)

  await page.getByRole('region', { name: 'Past' }).getByRole('button', { name: 'Back to now' }).click()
  await said(page, 'false')
  t.match(JSON.parse(await shell(await copied(page, 'Copy as curl'))), { enabled: false })
  await page.goto(link)
  await said(page, 'true')
  t.equal(await page.getByRole('textbox', { name: 'Value 2' }).count(), 0)
})

await t.test(
  'the evaluation page reports a flag that is deleted or does not exist at the moment',
  { skip },
  async (t) => {
    const { page, service } = await withFlags(t, { forced: [401, 404] })
    await page.goto(`${path}?flag=checkout&entity=a&at=1`)
    const alert = page.getByRole('alert')
    await alert.getByText('There is no flag checkout in default at this moment.').waitFor()
    await page.goto(`${path}?flag=checkout&entity=a`)
    await said(page, 'matched rollout 3')
    await service.request('DELETE', '/api/v1/namespaces/default/flags/checkout')
    await button(page, 'Evaluate').click()
    await alert.getByText('Flag not found').waitFor()
    await alert.getByText('There is no flag checkout in default now.').waitFor()
    t.equal(await page.getByRole('textbox', { name: 'Entity id' }).inputValue(), 'a')
    await page.goto(`${path}?flag=%3Cimg%3E&entity=a`)
    await alert.getByText('There is no flag <img> in default now.').waitFor()
  },
)

await t.test('after a failure the evaluation page keeps the input, and trying again works', { skip }, async (t) => {
  const { page } = await withFlags(t, { forced: [0, 401, 503] })
  await page.goto(path)
  await fillIn(page, 'checkout', 'user-42')
  const alert = page.getByRole('alert').filter({ hasText: 'The answer could not be loaded' })
  const refusal = { code: 14, message: 'away', details: [{ value: { reason: 'backend_unavailable' } }] }
  await page.route('**/evaluate/v1/**', (route) => route.fulfill({ status: 503, json: refusal }))
  await button(page, 'Evaluate').click()
  await alert.getByText('away').waitFor()
  await page.unroute('**/evaluate/v1/**')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await said(page, 'matched rollout 3')
  let dropped = 0
  await page.route('**/evaluate/v1/**', (route) => (dropped++ === 0 ? route.abort() : route.continue()))
  await page.getByRole('textbox', { name: 'Entity id' }).fill('user-43')
  await button(page, 'Evaluate').click()
  await answer(page).getByText('for “user-43”').waitFor()
  t.equal(dropped, 2, 'a broken connection is retried once')
  await page.unroute('**/evaluate/v1/**')
  await page.route('**/{api,auth,evaluate}/v1/**', (route) => route.abort())
  await page.getByRole('textbox', { name: 'Entity id' }).fill('user-44')
  await button(page, 'Evaluate').click()
  await page.getByText('The service cannot be reached. What you see may be old.').waitFor()
  await alert.waitFor()
  await page.unroute('**/{api,auth,evaluate}/v1/**')
  await answer(page).getByText('for “user-44”').waitFor()
  t.notOk(await alert.isVisible(), 'it recovers by itself')
})

await t.test('a new evaluation replaces the one that is running', { skip }, async (t) => {
  const { page } = await withFlags(t)
  await page.goto(path)
  await fillIn(page, 'checkout', 'user-42')
  const slow = gate()
  let asked = 0
  await page.route('**/evaluate/v1/**', async (route) => {
    if (asked++ === 0) await slow.opened
    return route.fallback()
  })
  await page.keyboard.press('Control+Enter')
  await button(page, 'Evaluating…').waitFor()
  await page.getByRole('textbox', { name: 'Entity id' }).fill('user-43')
  await page.keyboard.press('Control+Enter')
  await answer(page).getByText('for “user-43”').waitFor()
  slow.open()
  await button(page, 'Evaluate').waitFor()
  t.equal(asked, 2)
  t.equal(await answer(page).getByText('for “user-42”').count(), 0, 'the answer that comes late is not shown')
})

await t.test('the context can be edited as JSON, and its errors are shown', { skip }, async (t) => {
  const { page } = await withFlags(t)
  await page.goto(path)
  await fillIn(page, 'checkout', 'user-42')
  await addRow(page, 1, 'plan', 'pro')
  await addRow(page, 2, 'plan', 'beta')
  await addRow(page, 3, '', 'x')
  await button(page, 'Evaluate').click()
  await page.getByText('This property already exists.').waitFor()
  await page.getByText('Give the property a name.').waitFor()
  await focused(page, page.getByRole('textbox', { name: 'Property 2' }))
  await button(page, 'Delete row 3').click()
  await button(page, 'Delete row 2').click()
  await page.getByRole('checkbox', { name: 'Private 1' }).check()
  await button(page, 'Write it as JSON').click()
  await page.getByText('Left out of the address and of what is copied: plan.').waitFor()
  const json = page.getByRole('textbox', { name: 'Context as JSON' })
  t.equal(await json.inputValue(), '{\n  "plan": "pro"\n}')
  await json.fill('{"plan": beta}')
  await page.keyboard.press('Control+Enter')
  await page.getByText(/^This is not JSON: .+, line 1, column 10\.$/).waitFor()
  await json.fill('["plan"]')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Write an object, such as {"plan": "beta"}.').waitFor()
  await json.fill('{"ids": [9007199254740993]}')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Write numbers above 9007199254740991 as text, in quotes.').waitFor()
  await json.fill(JSON.stringify(Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`p${n}`, n]))))
  await page.keyboard.press('Control+Enter')
  // The service accepts at most 100 parameters.
  await page.waitForURL(/evaluate\?flag=checkout$/)
  await json.fill('{"plan": "beta", "age": 7, "tags": ["a", 1], "__proto__": true}')
  await page.keyboard.press('Control+Enter')
  await said(page, 'matched rollout 1')
  t.strictSame(search(page), {
    flag: 'checkout',
    entity: 'user-42',
    'c.age': '7',
    'c.tags': '["a",1]',
    'c.__proto__': 'true',
  })
  await button(page, 'Write it as rows').click()
  t.equal(await page.getByRole('textbox', { name: 'Value 1' }).inputValue(), 'beta')
  t.ok(await page.getByRole('checkbox', { name: 'Private 1' }).isChecked())
  await page.getByRole('textbox', { name: 'Value 2' }).fill('x'.repeat(2000))
  await button(page, 'Evaluate').click()
  await page.waitForURL(/evaluate\?flag=checkout$/)
  // The link would be too long.
  await button(page, 'Copy link').and(page.locator('[aria-disabled=true]')).waitFor()
})

await t.test('the evaluation page shows the texts of others as plain text', { skip }, async (t) => {
  const { page, make } = await withFlags(t)
  const hostile = '<img src=x onerror=alert(1)>{{7*7}}\u202e'
  await make.segment('hostile', [{ property: hostile, operator: 'eq', value: hostile }])
  await make.boolean('hostile')
  await make.bySegment('hostile', { segmentKey: 'hostile' })
  const query = new URLSearchParams({ flag: 'hostile', entity: hostile, [`c.${hostile}`]: `${hostile}!` })
  await page.goto(`${path}?${query.toString()}`)
  const shown = '<img src=x onerror=alert(1)>{{7*7}}U+202E'
  await answer(page).getByText(`${shown} is ${shown}: it is “${shown}!”`).waitFor()
  t.equal(await page.locator('main img').count(), 0)
})

await t.test('a flag can be evaluated without a mouse', { skip }, async (t) => {
  const { page, make } = await withFlags(t)
  for (const key of ['a-checkout', 'check']) await make.boolean(key)
  await page.goto('/settings/preferences')
  await page.getByRole('heading', { name: 'Preferences' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('e')
  await headed(page, 'Evaluate')
  await tabTo(page, 'Flag', 'combobox')
  await page.keyboard.type('check')
  await page.getByRole('option', { name: /^checkout/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.locator('[role=option][data-highlighted]', { hasText: 'checkout' }).waitFor()
  await page.keyboard.press('Enter')
  const list = page.getByRole('listbox')
  await list.waitFor({ state: 'detached' })
  const chosen = page.getByRole('combobox', { name: 'Flag' })
  for (const [text, isKey] of [
    ['check', true],
    ['check-out', false],
    ['checkout', true],
  ] as const) {
    await chosen.fill(text)
    await list.waitFor({ state: 'attached' })
    await page.keyboard.press('Enter')
    if (isKey) await list.waitFor({ state: 'detached' })
    else await page.getByText('No flags match').waitFor()
    t.equal(await chosen.inputValue(), text)
  }
  await tabTo(page, 'Entity id', 'textbox')
  await page.keyboard.type('user-42')
  await tabTo(page, 'Add row', 'button')
  await page.keyboard.press('Enter')
  await focused(page, page.getByRole('textbox', { name: 'Property 1' }))
  await page.keyboard.type('plan')
  await page.keyboard.press('Tab')
  await page.keyboard.type('beta')
  await page.keyboard.press('Control+Enter')
  await said(page, 'true')
  await tabTo(page, 'Delete row 1', 'button')
  await page.keyboard.press('Enter')
  await focused(page, button(page, 'Add row'))
  await page.reload()
  await said(page, 'true')
  await page.keyboard.press('Control+Enter')
  await said(page, 'true')
})
