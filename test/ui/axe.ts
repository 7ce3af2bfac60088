import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
// Selectors of all checked elements cost a tenth of the work; HTML shows the places.
const shared = { resultTypes: ['violations'], preload: false, selectors: false }
/** `colour`: rules that depend on the theme. `test/ui/theme.test.ts` verifies that themes differ in colours only. */
const options = {
  // The last rule is off by default.
  all: { ...shared, runOnly: { type: 'tag', values: TAGS }, rules: { 'target-size': { enabled: true } } },
  colour: { ...shared, runOnly: ['color-contrast', 'link-in-text-block'] },
}

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Adds axe to each page that a window loads during the test. */
export const bringAxe = async (t: Test, page: Page): Promise<void> => {
  const script = await page.addInitScript({ content: source })
  t.teardown(() => script.dispose())
}

/**
 * Returns the violations that axe finds on the page, with places and reasons. The debugger injects axe, so the page's
 * policy stays unchanged.
 */
export const axeFindings = async (page: Page, rules: keyof typeof options = 'all'): Promise<readonly string[]> => {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(source)
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify(options[rules])})`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)}: ${failureSummary.replaceAll('\n', ' ')}`),
  )
}
