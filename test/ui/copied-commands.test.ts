import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { becomesTrue, skip, withSession } from './browser.ts'

const run = promisify(execFile)
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Texts that a shell or terminal interprets if they are not quoted. */
const texts = [
  'x\u0003\ntouch p \n#',
  '\u001b[201~; touch p\r',
  `it's "$HOME" \`id\` $(id) \\ !! ~ * ; & |`,
  `'\n\\!'\\''`,
  '\u007f\u009b31m\u202eevil\u2028\u2029\u200b',
  'Ünïcödé 日本 🙂 e\u0301',
  'tab\tand\u00a0space ',
  '=ls',
  '-n',
  '0123\n4567',
]

const copied = async (page: Page, name: string): Promise<string> => {
  await page.evaluate('navigator.clipboard.writeText("")')
  await page.getByRole('button', { name, exact: true }).click()
  await becomesTrue(page, `navigator.clipboard.readText().then((text) => text !== '')`)
  return page.evaluate<string>('navigator.clipboard.readText()')
}

/** Splits a line with a shell; functions replace the programs. */
const wordsOf = async (line: string): Promise<readonly string[]> => {
  const program = (name: string) => `${name}() { printf '%s\\0' "$@"; }`
  const { stdout } = await run('bash', ['-c', `${program('rollcall')}; ${program('curl')}\n${line}`], {
    env: { PATH: process.env['PATH'], TOKEN: 'the token' },
  })
  return stdout.split('\0').slice(0, -1)
}

await t.test('a copied command has no control characters and keeps its arguments', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { clipboard: true })
  await maker(service).boolean('fb')
  for (const [n, text] of texts.entries()) {
    const value = texts[(n + 1) % texts.length]!
    const search = new URLSearchParams({ flag: 'fb', entity: text, 'c.plan': value })
    await page.goto(`/ns/default/evaluate?${search.toString()}`)
    await page.getByRole('region', { name: 'Answer' }).getByRole('status').getByText('false', { exact: true }).waitFor()

    const command = await copied(page, 'Copy as command')
    t.notMatch(command, unseen)
    t.strictSame(await wordsOf(command), [
      'evaluate',
      `--address=${service.url}`,
      '--namespace=default',
      `--entity=${text}`,
      `--context=plan=${value}`,
      '--explain',
      '--',
      'fb',
    ])
    const curl = await copied(page, 'Copy as curl')
    t.notMatch(curl, unseen)
    const words = await wordsOf(curl)
    t.strictSame(words.slice(2, 6), ['-H', 'Authorization: Bearer the token', '-H', 'Content-Type: application/json'])
    t.match(JSON.parse(words.at(-1)!), { flagKey: 'fb', entityId: text, context: { plan: value } })
  }

  await page.goto('/ns/default/evaluate?flag=fb&entity=a%00b')
  await page.getByRole('region', { name: 'Answer' }).getByRole('status').getByText('false', { exact: true }).waitFor()
  const button = page.getByRole('button', { name: 'Copy as command' })
  t.equal(await button.getAttribute('aria-disabled'), 'true', 'no argument of a program holds U+0000')
  const words = await wordsOf(await copied(page, 'Copy as curl'))
  t.match(JSON.parse(words.at(-1)!), { entityId: 'a\0b' })
})
