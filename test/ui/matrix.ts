import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Settings } from '../http/people.ts'
import { axeFindings, bringAxe } from './axe.ts'
import { openBrowser, rendered, signIn, skip } from './browser.ts'
import { flawsOfLargeText, layoutFlaws } from './layout.ts'
import { type Screen, type Seeded, seeded } from './screens.ts'
import { type Started, startService } from './service.ts'
import { withSessions } from './ways.ts'
import { goWithin } from './within.ts'

/** Service with its test data. */
export type World = { readonly service: Started; readonly seeded: Seeded }

const TOPBAR: Settings = { 'ui.topbar.label': 'PROD-EU', 'ui.topbar.color': '#b3261e' }

/** Starts a service with the data of the screens, and by default a label and colour in the top bar. */
export const withScreens = async (t: Test, settings = TOPBAR): Promise<World> => {
  const { service, ada } = await withSessions(t, settings)
  return { service, seeded: { ...(await seeded(service)), session: ada[0].authentication.id } }
}

/** Starts an open, read-only service. */
export const withOpenService = async (t: Test): Promise<World> => {
  const service = await startService(t, {
    'authentication.required': 'false',
    'storage.read_only': 'true',
    'ui.topbar.label': 'PROD-EU',
    'rate_limit.enabled': 'false',
  })
  return { service, seeded: { at: '0', made: '0', token: '', session: '' } }
}

/** Name of the initial state of a screen. */
const OPENED = 'as opened'

const reachesOf = ({ path: given, states = {}, past }: Screen, seeded: Seeded) => {
  const path = typeof given === 'string' ? given : given(seeded)
  const then = `${path}${path.includes('?') ? '&' : '?'}at=${seeded.at}`
  return [
    { state: OPENED, path, reach: undefined },
    ...(past ? [{ state: 'past', path: then, reach: undefined }] : []),
    ...Object.entries(states).map(([state, reach]) => ({ state, path, reach })),
  ]
}

type Window = {
  readonly width: number
  readonly height: number
  readonly colorScheme?: 'light' | 'dark'
  /** Whether to run axe. */
  readonly axe?: true
}

/** Opens each screen in each state in a window of this size, and calls `look`. */
export const eachShown = async (
  t: Test,
  { service, seeded }: World,
  screens: readonly Screen[],
  { colorScheme = 'light', axe, ...viewport }: Window,
  look: (t: Test, page: Page, name: string) => Promise<void>,
): Promise<void> => {
  // Stop animations.
  const context = { viewport, colorScheme, reducedMotion: 'reduce' } as const
  const broken = /Failed to fetch dynamically imported module/
  const open = async () => {
    const { page } = await openBrowser(t, service, { context, forced: [0, 400, 401, 403, 404, 412, 500, 503], broken })
    if (axe) await bringAxe(t, page)
    return page
  }
  const enter = async () => {
    const page = await open()
    await signIn(page)
    return page
  }
  let inside: Promise<Page> | undefined
  for (const screen of screens) {
    const page = await (screen.signedOut ? open() : (inside ??= enter()))
    for (const { state, path, reach } of reachesOf(screen, seeded)) {
      const name = `${screen.name}, ${state}`
      await t.test(name, async (t) => {
        await (screen.signedOut ? page.goto(path) : goWithin(page, path))
        await screen.shows(page).waitFor()
        await rendered(page)
        await reach?.(page, service)
        await look(t, page, name)
        if (reach) await page.unrouteAll({ behavior: 'ignoreErrors' })
      })
    }
  }
}

/** Initial window sizes, and the widths to which each is resized. */
const windows = [
  { width: 1280, height: 800, widths: [1920, 768, 1280] },
  { width: 375, height: 760, widths: [320, 375] },
] as const

/**
 * Test of screens in each state: axe finds nothing in either theme, and nothing overflows at any width or with double
 * text size.
 */
export const inReachOfEverybody = (screens: readonly Screen[], start: (t: Test) => Promise<World> = withScreens) =>
  t.test('every page is readable and reachable', { skip }, async (t) => {
    const world = await start(t)
    for (const { width, height, widths } of windows)
      await t.test(`opened at ${width} px`, (t) =>
        eachShown(t, world, screens, { width, height, axe: true }, async (t, page, name) => {
          t.strictSame(await axeFindings(page), [], 'light')
          // The states of a screen have the same colours at each width.
          if (width === windows[0].width || name.endsWith(OPENED)) {
            await page.emulateMedia({ colorScheme: 'dark' })
            t.strictSame(await axeFindings(page, 'colour'), [], 'dark')
            await page.emulateMedia({ colorScheme: 'light' })
          }
          for (const width of widths) {
            await page.setViewportSize({ width, height })
            t.strictSame(await layoutFlaws(page), [], `${width} px`)
          }
          t.strictSame(await flawsOfLargeText(page), [], `${width} px, text of 200 %`)
        }),
      )
  })
