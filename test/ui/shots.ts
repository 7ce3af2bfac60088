import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { openBrowser, signIn, skip } from './browser.ts'
import type { Started } from '../start.ts'
import { withSessions } from './ways.ts'

/** Where the pictures go; Git ignores it. */
const out = resolve(import.meta.dirname, '../../../.shots')
const ns = '/api/v1/namespaces'

/** Every screen, by the name of its picture. */
const screens: Readonly<Record<string, string>> = {
  flags: '/ns/default/flags',
  'new-flag': '/ns/default/flags/new',
  flag: '/ns/default/flags/new-checkout',
  about: '/ns/default/flags/new-checkout?tab=about',
  'variant-flag': '/ns/default/flags/search-ranking',
  evaluate: '/ns/default/evaluate?flag=new-checkout&entity=user-42&c.plan=pro',
  segments: '/ns/default/segments',
  'new-segment': '/ns/default/segments/new',
  segment: '/ns/default/segments/beta',
  namespaces: '/settings/namespaces',
  tokens: '/settings/tokens',
  sessions: '/settings/sessions',
  preferences: '/settings/preferences',
}
const looks = [
  { name: 'light', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 800, colorScheme: 'dark' },
  { name: 'narrow', width: 375, height: 760, colorScheme: 'light' },
] as const

/** A deployment as a team has it after some weeks. */
const seed = async ({ request }: Started): Promise<void> => {
  const flags = `${ns}/default/flags`
  const segment = (key: string, name: string) =>
    request('POST', `${ns}/default/segments`, { key, name, matchType: 'ANY_MATCH_TYPE' })
  await segment('beta', 'Beta testers')
  await segment('staff', 'Staff')
  for (const [key, property, operator, value] of [
    ['beta', 'plan', 'eq', 'beta'],
    ['staff', 'email', 'suffix', '@example.com'],
  ] as const)
    await request('POST', `${ns}/default/segments/${key}/constraints`, {
      type: 'STRING_COMPARISON_TYPE',
      property,
      operator,
      value,
    })
  const staffed = `${ns}/default/segments/beta/constraints`
  for (const [type, property, operator, value] of [
    ['STRING_COMPARISON_TYPE', 'plan', 'isoneof', '["pro","team","enterprise"]'],
    ['NUMBER_COMPARISON_TYPE', 'seats', 'gte', '10'],
    ['DATETIME_COMPARISON_TYPE', 'signed_up', 'lt', '2026-01-01'],
    ['ENTITY_ID_COMPARISON_TYPE', 'entityId', 'contains', 'internal'],
  ])
    await request('POST', staffed, { type, property, operator, value })
  for (const [key, name] of [
    ['shop', 'Shop'],
    ['search', 'Search'],
  ])
    await request('POST', ns, { key, name, description: `What the team of ${name} switches.` })
  for (const [key, name] of [
    ['new-checkout', 'New checkout'],
    ['dark-mode', 'Dark mode'],
    ['express-shipping', 'Express shipping'],
    ['invoice-pdf', 'Invoices as PDF'],
  ])
    await request('POST', flags, { key, name, type: 'BOOLEAN_FLAG_TYPE', description: `${name} for our customers.` })
  await request('POST', `${flags}/new-checkout/rollouts`, {
    rank: 1,
    segment: { segmentKeys: ['beta', 'staff'], value: true },
  })
  await request('POST', `${flags}/new-checkout/rollouts`, { rank: 2, threshold: { percentage: 25, value: true } })
  await request('POST', `${flags}/dark-mode/rollouts`, { rank: 1, threshold: { percentage: 10, value: true } })
  await request('POST', flags, {
    key: 'search-ranking',
    name: 'Search ranking',
    type: 'VARIANT_FLAG_TYPE',
    enabled: true,
  })
  const variants: string[] = []
  for (const key of ['classic', 'semantic'])
    variants.push(
      (
        await request<{ id: string }>('POST', `${flags}/search-ranking/variants`, {
          key,
          name: `The ${key} ranking`,
          attachment: JSON.stringify({ model: `${key}-2`, boost: [1.5, 0.5] }),
        })
      ).json.id,
    )
  const { json: rule } = await request<{ id: string }>('POST', `${flags}/search-ranking/rules`, {
    segmentKey: 'beta',
    rank: 1,
  })
  for (const variantId of variants)
    await request('POST', `${flags}/search-ranking/rules/${rule.id}/distributions`, { variantId, rollout: 50 })
  for (const [name, days] of [
    ['ci-prod', 27],
    ['nightly', 3],
    ['storefront', 300],
  ] as const)
    await request('POST', '/auth/v1/method/token', {
      name,
      expiresAt: new Date(Date.now() + days * 86_400_000).toISOString(),
      ...(name === 'storefront' && { namespaceKey: 'default' }),
    })
}

await t.test('pictures of every screen', { skip, timeout: 250_000 }, async (t) => {
  await mkdir(out, { recursive: true })
  const { service, ada } = await withSessions(t)
  await seed(service)
  const { json: nightly } = await service.request<{ authentications: readonly { id: string }[] }>(
    'GET',
    '/auth/v1/tokens?q=nightly',
  )
  const all = {
    ...screens,
    token: `/settings/tokens/${nightly.authentications[0]!.id}`,
    session: `/settings/sessions/${ada[0].authentication.id}`,
  }
  for (const { name, colorScheme, ...viewport } of looks) {
    const { page } = await openBrowser(t, service, { context: { viewport, colorScheme } })
    await page.goto('/login')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.screenshot({ path: join(out, `login-${name}.png`) })
    await page.goto('/login?error=access_denied&ref=5f0c5a7e-6a51-4f2e-9d52-0d8a3d0f3a11')
    await page.getByRole('alert').waitFor()
    await page.screenshot({ path: join(out, `login-refused-${name}.png`) })
    await signIn(page)
    for (const [screen, path] of Object.entries(all)) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'hidden' })
      await page.screenshot({ path: join(out, `${screen}-${name}.png`) })
    }
  }
})
