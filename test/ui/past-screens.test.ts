import t from 'tap'
import { comesTo, openTab, skip } from './browser.ts'
import { N } from './flag-page.ts'
import { cells, readsAlone, withPast } from './past-world.ts'

type Named = { readonly name: string }
type Rollouts = {
  readonly rollouts: readonly {
    readonly threshold?: { readonly percentage: number; readonly value: boolean }
    readonly segment?: { readonly segmentKey: string; readonly value: boolean }
  }[]
}

await t.test('past flags are shown as the service returns them, and cannot be edited', { skip }, async (t) => {
  const { page, service, at, asOf, open } = await withPast(t)
  const { flags } = await asOf<{ flags: Named[] }>(`${N}/flags?include=targeting&sort=name`)
  t.strictSame(
    flags.map(({ name }) => name),
    ['checkout', 'ranking'],
  )
  await open('/ns/default/flags', 'Flags 2')
  t.strictSame(
    await cells(page, 'Flags').getByRole('link').allTextContents(),
    flags.map(({ name }) => name),
  )
  const [checkout, ranking] = [
    page.getByRole('row', { name: /^checkout/ }),
    page.getByRole('row', { name: /^ranking/ }),
  ]
  await checkout.getByText('beta → true, 25 % → true').waitFor()
  await checkout.getByText('Default false').waitFor()
  await ranking.getByText('1 rule').waitFor()
  const sorts = ['Flag', 'Last asked', 'Changed (UTC)']
  await readsAlone(t, page, at, ['Search flags', 'Type', 'State', ...sorts])

  await page.getByRole('link', { name: 'checkout' }).click()
  await page.getByRole('heading', { name: 'checkout', level: 1 }).waitFor()
  const { headers } = await service.request('GET', `${N}/flags/checkout?at=${at}`)
  await page.getByText(`revision ${String(headers.etag).replaceAll('"', '')}`).waitFor()
  const { rollouts } = await asOf<Rollouts>(`${N}/flags/checkout/rollouts`)
  await comesTo(
    t,
    () => page.getByRole('list', { name: 'Rollouts' }).getByRole('heading').allTextContents(),
    rollouts.map(({ threshold, segment }) =>
      threshold
        ? `${threshold.percentage} % of entities → ${threshold.value}`
        : `Segment ${segment!.segmentKey} → ${segment!.value}`,
    ),
  )
  const tabs = ['Targeting', 'History', 'About']
  const head = ['Copy key', 'More actions']
  await readsAlone(t, page, at, [...head, ...tabs])
  await openTab(page, 'About')
  await page.getByRole('button', { name: 'Delete flag' }).waitFor()
  await readsAlone(t, page, at, [...head, ...tabs])
  await page.getByRole('button', { name: 'More actions' }).click()
  const remove = page.getByRole('menuitem', { name: /^Delete/ })
  t.equal(await remove.getAttribute('aria-disabled'), 'true')
  await page.keyboard.press('Escape')

  await open('/ns/default/flags/ranking', 'ranking')
  await page.getByRole('list', { name: 'Rules' }).getByRole('heading').first().waitFor()
  await page.getByText('red', { exact: true }).first().waitFor()
  await readsAlone(t, page, at, [...head, ...tabs, 'Show red'])
  await page.getByRole('button', { name: 'Show red' }).click()
  await page.locator('main pre').getByText('{"a":1}').waitFor()
  t.equal(await page.locator('main :is(input, textarea):not([readonly])').count(), 0)
})

await t.test('past segments are shown as the service returns them', { skip }, async (t) => {
  const { page, service, at, asOf, open } = await withPast(t)
  const { segments } = await asOf<{ segments: Named[] }>(`${N}/segments?sort=name`)
  t.strictSame(
    segments.map(({ name }) => name),
    ['beta'],
  )
  await open('/ns/default/segments', 'Segments 1')
  t.strictSame(await cells(page, 'Segments').getByRole('link').allTextContents(), ['beta'])
  await page.getByRole('row', { name: /^beta/ }).getByText('2 flags').waitFor()
  await readsAlone(t, page, at, ['Search segments', 'Segment', 'Changed (UTC)'])

  await page.getByRole('link', { name: 'beta' }).click()
  await page.getByRole('heading', { name: 'beta', level: 1 }).waitFor()
  const { headers } = await service.request('GET', `${N}/segments/beta?at=${at}`)
  await page.getByText(`revision ${String(headers.etag).replaceAll('"', '')}`).waitFor()
  const { constraints } = await asOf<{ constraints: { property: string }[] }>(`${N}/segments/beta`)
  t.equal(constraints.length, 1)
  const shown = page.getByRole('list', { name: 'Constraints' }).getByRole('listitem')
  await shown.getByText('plan is pro').waitFor()
  t.equal(await shown.count(), 1)
  await comesTo(t, () => cells(page, 'Used by').getByRole('link').allTextContents(), ['checkout', 'ranking'])
  await readsAlone(t, page, at, ['Targeting', 'History', 'About'])
  await openTab(page, 'About')
  await page.getByRole('button', { name: 'Delete segment' }).waitFor()
  await readsAlone(t, page, at, ['Targeting', 'History', 'About'])
})

await t.test('past tokens are shown as the service returns them', { skip }, async (t) => {
  const { page, at, asOf, open, token } = await withPast(t)
  const { authentications } = await asOf<{ authentications: { metadata: Record<string, string> }[] }>(
    '/auth/v1/tokens?kind=static&sort=createdAt&order=desc',
  )
  const names = authentications.map(
    ({ metadata }) => Object.entries(metadata).find(([key]) => key.endsWith('.token.name'))![1],
  )
  t.match(names, ['ci-test', 'ci-prod'])
  t.notOk(names.includes('later'))
  await open('/settings/tokens', `Static Tokens ${names.length}`)
  await cells(page, 'Static tokens').first().waitFor()
  t.strictSame(await cells(page, 'Static tokens').getByRole('link').allTextContents(), names)
  const filters = ['Find a token', 'Search tokens', 'Status', 'Access', 'Namespace', 'Open the list of namespaces']
  const sorts = ['Token', 'Created (UTC)', 'Expires']
  const chosen = ['Select all tokens on this page', ...names.map((name) => `Select ${name}`)]
  await readsAlone(t, page, at, [...filters, chosen[0]!, ...sorts, ...chosen.slice(1)])
  await page.getByRole('checkbox', { name: 'Select ci-prod' }).check()
  const remove = page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete 1 token' })
  t.equal(await remove.getAttribute('aria-disabled'), 'true')
  await page.getByRole('link', { name: 'ci-prod' }).click()
  await page.getByRole('heading', { name: 'ci-prod', level: 1 }).waitFor()
  await page.getByText('Active', { exact: true }).waitFor()
  t.match(page.url(), new RegExp(`/settings/tokens/${token.id}\\?at=${at}$`))
  const issued = 'static token "ci-prod" issued for every namespace, never expires'
  await page.getByRole('button', { name: issued }).waitFor()
  await readsAlone(t, page, at, [issued])
})

await t.test('a past evaluation shows the answer of the service', { skip }, async (t) => {
  const { page, service, at, open } = await withPast(t)
  for (const [flag, kind, entity, plan] of [
    ['checkout', 'boolean', 'ada', 'pro'],
    ['checkout', 'boolean', 'user-1', 'free'],
    ['checkout', 'boolean', 'user-2', 'free'],
    ['ranking', 'variant', 'ada', 'pro'],
  ] as const) {
    const body = { flagKey: flag, entityId: entity, context: { plan } }
    const { json } = await service.request<{ enabled?: boolean; variantKey?: string }>(
      'POST',
      `/evaluate/v1/${kind}?at=${at}`,
      body,
    )
    await open(`/ns/default/evaluate?flag=${flag}&entity=${entity}&c.plan=${plan}`, 'Evaluate')
    const answer = page.getByRole('region', { name: 'Answer' })
    await answer.getByRole('heading', { name: 'Steps' }).waitFor()
    t.equal((await answer.innerText()).split('\n')[0], kind === 'boolean' ? String(json.enabled) : json.variantKey)
  }
  await readsAlone(t, page, at, [
    'Copy link',
    'Copy as curl',
    'Copy as command',
    'Flag',
    'Open the list of flags',
    'Entity id',
    'New entity id',
    `At: #${at}`,
    'Write it as JSON',
    'Property 1',
    'Value 1',
    'Private 1',
    'Delete row 1',
    'Add row',
    'Evaluate',
  ])
})

await t.test('a past comparison ends at the shown moment, as the service compares it', { skip }, async (t) => {
  const { page, service, at } = await withPast(t)
  type Diff = { readonly items: readonly { readonly stream: string; readonly kind: string }[] }
  const { json } = await service.request<Diff>('GET', `/audit/v1/diff?namespaceKey=default&a=0&b=${at}`)
  t.strictSame(
    json.items.map(({ stream, kind }) => [stream, kind]),
    ['flag-default+checkout', 'flag-default+ranking', 'namespace-default', 'segment-default+beta'].map((stream) => [
      stream,
      'added',
    ]),
  )
  await page.goto(`/history/compare?ns=default&a=0&at=${at}`)
  const shown = page.getByRole('list', { name: 'Differences' }).getByRole('heading')
  await comesTo(
    t,
    () => shown.allTextContents(),
    ['flag checkout', 'flag ranking', 'namespace default', 'segment beta'],
    'the differences of the service',
  )
  await readsAlone(t, page, at, [
    'Copy link',
    'Copy as JSON Patch',
    'Namespace',
    'Open the list of namespaces',
    'What',
    'Open the list of flags and segments',
    'A is',
    'Moment A',
    'Swap',
    'B is',
    'Moment B',
    'Minimal',
    'Full',
  ])
})
