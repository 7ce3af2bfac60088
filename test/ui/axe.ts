import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const options = {
  runOnly: { type: 'tag', values: TAGS },
  // It must be asked for by name.
  rules: { 'target-size': { enabled: true } },
  resultTypes: ['violations'],
  preload: false,
}

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** What axe finds on the page as it stands: each rule that is broken, where, and why. The page's own policy stays as it is: axe comes by the browser's debugger. */
export const axeFindings = async (page: Page): Promise<readonly string[]> => {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(source)
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify(options)})`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary.replaceAll('\n', ' ')}`),
  )
}
