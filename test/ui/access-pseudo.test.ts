import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { axeFindings } from './axe.ts'
import { openBrowser, signIn, skip } from './browser.ts'
import { showBuilt } from './built.ts'
import { layoutFlaws } from './layout.ts'
import { withScreens } from './matrix.ts'
import { buildPseudo } from './pseudo.ts'

const paths = [
  '/ns/default/flags',
  '/ns/default/flags/new',
  '/ns/default/flags/new-checkout',
  '/ns/default/flags/search-ranking',
  '/ns/default/segments/staff',
  '/ns/default/evaluate?flag=new-checkout&entity=user-42&c.plan=pro',
  '/history/compare',
  '/settings/tokens',
  '/settings/sessions',
  '/settings/namespaces',
  '/settings/preferences',
]

await t.test('pages have room for longer texts, also if they are written from right to left', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-pseudo-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await buildPseudo(folder)
  const { service } = await withScreens(t)
  const { page, context } = await openBrowser(t, service, {
    context: { viewport: { width: 320, height: 700 }, reducedMotion: 'reduce' },
  })
  await signIn(page)
  await showBuilt(context, folder)
  for (const path of paths)
    await t.test(path, async (t) => {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'hidden' })
      t.equal(await page.evaluate('getComputedStyle(document.body).direction'), 'rtl')
      t.match(await page.getByRole('navigation').first().innerText(), /[áéíóúñ]/, 'the words are those')
      t.strictSame(await layoutFlaws(page), [], '320 px')
      t.strictSame(await axeFindings(page), [])
    })
})
