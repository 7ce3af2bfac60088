import type { Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { skip, withSession } from './browser.ts'

const list = '/ns/default/flags'
const rollouts = (page: Page) => page.getByRole('list', { name: 'Rollouts' }).getByRole('listitem')
const answers = (page: Page) => page.getByRole('figure', { name: 'Answers' })

await t.test('the possible answers of a flag are shown in the list and on its page', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  const make = maker(service)
  await make.segment('beta')
  await make.boolean('plain')
  await make.boolean('everybody')
  await make.threshold('everybody', 100)
  await make.bySegment('everybody', { segmentKeys: ['beta'], value: false })
  await make.boolean('some', true)
  await make.threshold('some', 30, false)
  await make.boolean('testers')
  await make.bySegment('testers', { segmentKeys: ['beta'] })
  await make.threshold('testers', 25)
  for (const [key, enabled] of [
    ['ranking', true],
    ['dark', false],
  ] as const) {
    await make.variantFlag(key, enabled)
    const red = await make.variant(key, 'red')
    await make.rule(key, { segmentKey: 'beta' }, { [red]: 100 })
    await make.updateFlag(key, { enabled, defaultVariantId: red })
  }
  const said: Readonly<Record<string, readonly [state: string, targeting: string, note?: string]>> = {
    plain: ['False for everybody', ''],
    everybody: ['True for everybody', '100 % → true, beta → false (not asked)', 'Default false'],
    some: ['False for 30 %, else true', '30 % → false', 'Default true'],
    testers: ['Depends on segments', 'beta → true, 25 % → true', 'Default false'],
    ranking: ['On: depends on segments, else default red', '1 rule, default red'],
    dark: ['Off: no match, default red for everybody', '1 rule (not asked), default red'],
  }
  await page.goto(list)
  for (const [key, [state, targeting, note = '']] of Object.entries(said)) {
    const row = page.getByRole('row', { name: new RegExp(`^${key} `) })
    await row.waitFor()
    const cells = await row.getByRole('cell').allTextContents()
    t.strictSame(cells.slice(1, 3), [state + note, targeting], key)
  }

  for (const [key, [state]] of Object.entries(said)) {
    await page.goto(`${list}/${key}`)
    await page.getByRole('heading', { name: key, level: 1 }).waitFor()
    await page.getByText(state, { exact: true }).first().waitFor()
  }
})

await t.test("a flag's page shows which rollouts answer true and which can never apply", { skip }, async (t) => {
  const { page, service } = await withSession(t)
  const make = maker(service)
  await make.segment('beta')
  await make.boolean('f')
  await make.threshold('f', 10, false)
  await make.bySegment('f', { segmentKeys: ['beta'] })
  await make.threshold('f', 100, false)
  await make.threshold('f', 50)
  await page.goto(`${list}/f`)
  await answers(page).getByText('Default false, yet rollout 2 answers true.').waitFor()
  const hatched = 'In the hatched part, an entity that is in a segment of an earlier rollout'
  await answers(page).getByText(hatched).waitFor()
  const notAsked = 'Not evaluated: a rollout above answers everybody.'
  const marked = async () => {
    const all: boolean[] = []
    for (const one of await rollouts(page).all()) all.push((await one.getByText(notAsked).count()) > 0)
    return all
  }
  t.strictSame(await marked(), [false, false, false, true])

  await page.getByRole('button', { name: 'Move rollout 3 up' }).click()
  await page.getByRole('button', { name: 'Move rollout 2 up' }).click()
  await answers(page).getByText('100 % false', { exact: true }).waitFor()
  t.strictSame(await marked(), [false, true, true, true])
  t.equal(await answers(page).getByText(hatched).count(), 0, 'nobody gets another answer there')
  t.equal(await answers(page).getByText('yet rollout').count(), 0)
  await page.getByText('Depends on segments, else false', { exact: true }).waitFor()
})
