import t from 'tap'
import { signedIn, skip } from './browser.ts'

const N = '/api/v1/namespaces/default'

await t.test('the notice that unsaved changes were kept is scrolled into view', { skip }, async (t) => {
  const { page, service } = await signedIn(
    t,
    '/',
    {},
    { forced: [401, 412], context: { viewport: { width: 1000, height: 500 } } },
  )
  await service.request('POST', `${N}/flags`, { key: 'f', name: 'Flag f', type: 'BOOLEAN_FLAG_TYPE' })
  const rollout = (percentage: number) =>
    service.request('POST', `${N}/flags/f/rollouts`, { threshold: { percentage, value: true } })
  for (let n = 1; n <= 12; n++) await rollout(n)
  await page.goto('/ns/default/flags/f')
  const save = async (text: string) => {
    await page.getByRole('textbox', { name: 'Percentage', exact: true }).fill(text)
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Keep my changes' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  }
  const notice = page.getByRole('alert').filter({ hasText: 'Your changes are now based on the present state.' })
  const isInSight = async () => {
    const { y = -1, height = 0 } = (await notice.boundingBox()) ?? {}
    return y >= 0 && y + height <= 500
  }
  await page.getByRole('button', { name: 'Edit rollout 12' }).click()
  await rollout(20)
  await save('30')
  await notice.waitFor()
  t.ok(await isInSight(), 'at first')
  await rollout(21)
  await page.getByRole('textbox', { name: 'Percentage', exact: true }).scrollIntoViewIfNeeded()
  t.notOk(await isInSight(), 'it was scrolled away')
  await save('31')
  t.ok(await isInSight(), 'and again')
})
