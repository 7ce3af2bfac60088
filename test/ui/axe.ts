import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const shared = { resultTypes: ['violations'], preload: false }
/** `colour`: the rules that a theme can break where the page is the same; `test/ui/theme.test.ts` holds that themes differ in colours alone. */
const options = {
  // The last rule must be asked for by name.
  all: { ...shared, runOnly: { type: 'tag', values: TAGS }, rules: { 'target-size': { enabled: true } } },
  colour: { ...shared, runOnly: ['color-contrast', 'link-in-text-block'] },
}

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Puts axe into each page that a window loads during the test: it is handed over once. */
export const bringAxe = async (t: Test, page: Page): Promise<void> => {
  const script = await page.addInitScript({ content: source })
  t.teardown(() => script.dispose())
}

/** What axe finds on the page as it stands: each rule that is broken, where, and why. The page's own policy stays as it is: axe comes by the browser's debugger. */
export const axeFindings = async (page: Page, rules: keyof typeof options = 'all'): Promise<readonly string[]> => {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(source)
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify(options[rules])})`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary.replaceAll('\n', ' ')}`),
  )
}
