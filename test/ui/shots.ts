import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { rendered, skip } from './browser.ts'
import { eachShown, type World, withOpenService, withScreens } from './matrix.ts'
import {
  ofEvaluate,
  ofFlag,
  ofFlags,
  ofHistory,
  ofOpenService,
  ofSegments,
  ofSettings,
  ofShell,
  type Screen,
} from './screens.ts'

/** Output folder, ignored by Git. */
const out = resolve(import.meta.dirname, '../../../.shots')
const ofEverything = [...ofShell, ...ofFlags, ...ofFlag, ...ofSegments, ...ofEvaluate, ...ofHistory, ...ofSettings]
const looks = [
  { name: 'light', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 800, colorScheme: 'dark' },
  { name: 'narrow', width: 375, height: 760, colorScheme: 'light' },
] as const

const fileOf = (screen: string, look: string) =>
  `${screen
    .replace(/, as opened$/, '')
    .replaceAll(/\W+/g, '-')
    .toLowerCase()}-${look}.png`

/** Filter of screen names; default: all. */
const wanted = process.argv[2] ?? ''

/** Takes screenshots of these screens in each state and look. */
const picture = async (t: Test, screens: readonly Screen[], start: () => Promise<World>): Promise<void> => {
  const chosen = screens.filter(({ name }) => name.includes(wanted))
  if (chosen.length === 0) return
  const world = await start()
  for (const { name: look, ...window } of looks)
    await t.test(look, (t) =>
      eachShown(t, world, chosen, window, async (t, page, screen) => {
        await rendered(page)
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'hidden' })
        const { length } = await page.screenshot({ path: join(out, fileOf(screen, look)) })
        t.ok(length > 0)
      }),
    )
}

await t.test('screenshots of every page', { skip }, async (t) => {
  if (wanted === '') await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  await picture(t, ofEverything, () => withScreens(t, {}))
  await picture(t, ofOpenService, () => withOpenService(t))
})
