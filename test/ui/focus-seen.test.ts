import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { skip } from './browser.ts'
import { eachShown, withScreens } from './matrix.ts'
import { ofEvaluate, ofFlag, ofFlags, ofSegments, ofSettings } from './screens.ts'

type Stop = { readonly what: string; readonly seen: boolean; readonly covered: boolean }

/** Browser script: describes the focused element, whether its focus is visible, and whether a fixed bar covers it. */
const STOP = `(() => {
  const part = document.activeElement
  if (part === document.body) return null
  const { outlineStyle, outlineWidth } = getComputedStyle(part)
  const { left, right, top, bottom, height } = part.getBoundingClientRect()
  const corners = height > innerHeight / 3 ? [] : [[left + 3, top + 3], [right - 3, bottom - 3]]
  const barAt = (there) => {
    for (let bar = there; bar; bar = bar.parentElement)
      if (/sticky|fixed/.test(getComputedStyle(bar).position) && !bar.contains(part)) return bar
  }
  return {
    what: part.outerHTML.slice(0, 160),
    // In a date field the browser marks the focused part itself.
    seen: part.matches('[type^=date]') || outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    covered: [[(left + right) / 2, (top + Math.min(bottom, innerHeight)) / 2], ...corners].some(([x, y]) => {
      const there = document.elementFromPoint(x, y)
      return there === null || barAt(there) !== undefined
    }),
  }
})()`
const MOST = 120

/** Returns every tab stop of the page from its top. */
const stopsOf = async (page: Page): Promise<readonly Stop[]> => {
  await page.getByRole('link', { name: 'Skip to content' }).focus()
  const stops: Stop[] = []
  while (stops.length < MOST) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | null>(STOP)
    if (stop === null || stop.what.includes('class="skip"')) break
    stops.push(stop)
  }
  return stops
}

const everyStopIsSeen = async (t: Test, page: Page) => {
  const stops = await stopsOf(page)
  t.ok(stops.length > 5 && stops.length < MOST, `${stops.length} stops`)
  t.strictSame(
    stops.filter(({ seen, covered }) => !seen || covered),
    [],
    'each is seen, and nothing lies over it',
  )
}

/** Browser script: elements with animations or transitions. */
const MOVING = `[...document.querySelectorAll('*')].filter((part) => {
  const { animationName, transitionProperty, transitionDuration } = getComputedStyle(part)
  return animationName !== 'none' || (transitionProperty !== 'none' && /[1-9]/.test(transitionDuration))
}).map((part) => part.outerHTML.slice(0, 120))`

const named = (name: string) =>
  [...ofFlags, ...ofFlag, ...ofSegments, ...ofSettings, ...ofEvaluate].filter((screen) => screen.name === name)
const screens = ['flags', 'Boolean flag', 'segment', 'static tokens', 'namespaces', 'evaluate'].flatMap(named)
/** As opened, and with an editor above the bar of unsaved changes. */
const bare = screens.map(({ states = {}, ...screen }) => ({
  ...screen,
  states: Object.fromEntries(Object.entries(states).filter(([name]) => name === 'editor open')),
}))

await t.test('the keyboard focus is visible at every tab stop', { skip }, async (t) => {
  const world = await withScreens(t)
  for (const [width, height] of [
    [1280, 560],
    [375, 640],
  ] as const)
    await t.test(`the focus is visible on a page ${width} px wide`, (t) =>
      eachShown(t, world, bare, { width, height }, async (t, page) => {
        await everyStopIsSeen(t, page)
        t.strictSame(await page.evaluate(MOVING), [], 'nothing moves where that is not wanted')
      }),
    )
  await t.test('the focus is visible with forced colours', (t) =>
    eachShown(t, world, bare.slice(0, 4), { width: 1280, height: 560 }, async (t, page) => {
      await page.emulateMedia({ forcedColors: 'active' })
      await everyStopIsSeen(t, page)
      await page.emulateMedia({ forcedColors: 'none' })
    }),
  )
})
