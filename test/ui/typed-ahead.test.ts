import type { Page } from 'playwright-core'
import t from 'tap'
import { comesTo, signedIn, skip } from './browser.ts'
import { N } from './flag-page.ts'

/**
 * Holds each timer of `ms` in the page until `pause`, which runs the held timers at once. `type` enters a text into the
 * active field, before the page can show anything.
 */
const holdTimers = (page: Page, ms: number) =>
  page.evaluate(`(() => {
    const { setTimeout, clearTimeout } = window
    const held = new Map()
    let last = 0
    window.setTimeout = (work, after, ...rest) => {
      if (after !== ${ms}) return setTimeout(work, after, ...rest)
      held.set(--last, work)
      return last
    }
    window.clearTimeout = (id) => held.delete(id) || clearTimeout(id)
    window.pause = () => {
      const due = [...held.values()]
      held.clear()
      for (const work of due) work()
      return due.length
    }
    window.type = (text) => {
      const field = document.activeElement
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text)
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }
  })()`)

const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

await t.test(
  'a list keeps what is typed after a search was sent and before the address has it',
  { skip },
  async (t) => {
    const { page, service } = await signedIn(t, '/')
    for (const key of ['checkout', 'cherry', 'other'])
      await service.request('POST', `${N}/flags`, { key, name: key, type: 'BOOLEAN_FLAG_TYPE' })
    await page.goto('/ns/default/flags')
    const field = page.getByRole('searchbox', { name: 'Search flags' })
    const row = (name: string) => page.getByRole('row', { name })
    await row('other').waitFor()
    await holdTimers(page, 200)
    await field.pressSequentially('che')
    /** Sends the typed text, and types another one before the page can show anything. */
    const sendAndType = (text: string) =>
      page.evaluate(`(() => {
      const sent = window.pause()
      window.type('${text}')
      return sent
    })()`)

    t.equal(await sendAndType('checkout'), 1)
    await row('other').waitFor({ state: 'detached' })
    await row('cherry').waitFor()
    t.strictSame([queryOf(page), await field.inputValue()], [{ q: 'che' }, 'checkout'])
    t.equal(await page.evaluate('window.pause()'), 1)
    await row('cherry').waitFor({ state: 'detached' })
    t.strictSame([queryOf(page), await field.inputValue()], [{ q: 'checkout' }, 'checkout'])

    // The first text again, before the address has the second one.
    await field.fill('o')
    t.equal(await sendAndType('checkout'), 1)
    t.equal(await page.evaluate('window.pause()'), 1)
    await comesTo(t, async () => queryOf(page), { q: 'checkout' })
    t.equal(await field.inputValue(), 'checkout')

    await page.getByRole('combobox', { name: 'Type' }).selectOption('Variant')
    await page.getByRole('button', { name: 'Clear search' }).click()
    await comesTo(t, () => field.inputValue(), '', 'the field follows other changes of the address')
  },
)

await t.test(
  'the history keeps a suggestion that was chosen before the address has the search',
  { skip },
  async (t) => {
    const { page } = await signedIn(t, '/history')
    const field = page.getByRole('searchbox', { name: 'Search history' })
    await holdTimers(page, 400)
    await field.pressSequentially('out')
    await page.getByRole('option', { name: 'outcome:' }).waitFor()
    await field.press('ArrowDown')
    t.equal(
      await page.evaluate(`(() => {
      const sent = window.pause()
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
      return sent
    })()`),
      1,
    )
    await page.getByRole('list', { name: 'Filters' }).getByRole('listitem').filter({ hasText: 'out' }).waitFor()
    t.equal(await field.inputValue(), 'outcome:')
    await page.getByRole('option', { name: 'denied' }).click()
    await comesTo(t, async () => queryOf(page), { outcome: 'denied' })
    t.match(await field.inputValue(), /^outcome:denied ?$/)
  },
)

await t.test('a search of the history and a change of its period do not undo each other', { skip }, async (t) => {
  const { page } = await signedIn(t, '/history')
  const field = page.getByRole('searchbox', { name: 'Search history' })
  await holdTimers(page, 400)
  /** Enters a moment, and sends the typed search before or after it. The page shows nothing between them. */
  const enterMoment = async (search: 'before' | 'after', label: string, moment: string) => {
    await page.getByLabel(label, { exact: true }).focus()
    return page.evaluate(`(() => {
      const early = ${search === 'before'} ? window.pause() : 0
      window.type('${moment}')
      return ${search === 'after'} ? window.pause() : early
    })()`)
  }
  const instant = (moment: string): string => new Date(moment).toISOString()

  await field.fill('login')
  t.equal(await enterMoment('before', 'From', '2020-01-02T03:04'), 1)
  const first = { q: 'login', from: instant('2020-01-02T03:04') }
  await comesTo(t, async () => queryOf(page), first, 'the period does not undo the search')
  await field.fill('token')
  t.equal(await enterMoment('after', 'To', '2099-01-02T03:04'), 1)
  const second = { ...first, q: 'token', to: instant('2099-01-02T03:04') }
  await comesTo(t, async () => queryOf(page), second, 'the search does not undo the period')
})
