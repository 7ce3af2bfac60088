import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { maker } from '../http/flags.ts'
import { granted, withNamespaces } from '../http/granted.ts'
import { comesTo, openBrowser, signIn, skip, TOKEN } from './browser.ts'
import { gate, withFates } from './fates.ts'
import { type Started, startService } from './service.ts'
import { withSessions } from './ways.ts'

const N = '/ns/default'
const FLAGS = '**/api/v1/namespaces/default/flags'
const SEGMENTS = '**/api/v1/namespaces/default/segments'

/** Write of the UI: how to reach its button, and the texts of its outcomes. */
type Write = {
  /** POST retries have the same idempotency key. */
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly address: string
  /** Opens the part of the page with the button and the alert. */
  readonly open: (page: Page) => Promise<Locator>
  readonly submit: RegExp
  readonly busy: string
  readonly failed: string
  readonly done: (page: Page) => Locator
}

const button = (part: Page | Locator, name: string | RegExp) =>
  part.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
const field = (part: Page | Locator, name: string) => part.getByRole('textbox', { name, exact: true })
const said = (words: string) => (page: Page) => page.getByRole('status').getByText(words)
const asked = async (page: Page, path: string, press: string, dialog: string): Promise<Locator> => {
  await page.goto(path)
  await button(page, press).click()
  return page.getByRole('alertdialog', { name: dialog })
}
const filled = async (page: Page, path: string, press: string | undefined, name: string): Promise<Locator> => {
  await page.goto(path)
  if (press !== undefined) await button(page, press).click()
  const part = press === undefined ? page.getByRole('main') : page.getByRole('dialog')
  await field(part, 'Name').fill(name)
  return part
}
const reviewed = async (page: Page, path: string, name: string): Promise<Locator> => {
  await filled(page, path, undefined, name)
  await button(page, 'Review changes').click()
  return page.getByRole('dialog', { name: 'Review changes' })
}

const creating = { method: 'POST', busy: 'Creating…' } as const
const saving = { method: 'POST', busy: 'Saving…', submit: /^Save changes$/, failed: 'Nothing was saved' } as const
const deleting = { method: 'DELETE', busy: 'Deleting…' } as const

const writes: Readonly<Record<string, Write>> = {
  'create a token': {
    ...creating,
    address: '**/auth/v1/method/token',
    open: async (page) => {
      const form = await filled(page, '/settings/tokens', 'New token', 'made')
      await form.getByRole('combobox', { name: 'Role' }).selectOption('viewer')
      return form
    },
    submit: /^Create token$/,
    failed: 'The token was not created',
    done: (page) => page.getByRole('dialog', { name: 'Token created' }),
  },
  'delete a token': {
    ...deleting,
    address: '**/auth/v1/tokens/*',
    open: (page) => asked(page, '/settings/tokens', 'Delete doomed', 'Delete token doomed?'),
    submit: /^(Delete token|Try again)$/,
    failed: 'The token was not deleted',
    done: said('Token doomed deleted.'),
  },
  'create a flag': {
    ...creating,
    address: FLAGS,
    open: (page) => filled(page, `${N}/flags/new`, undefined, 'made'),
    submit: /^Create flag$/,
    failed: 'The flag was not created',
    done: said('Flag made created.'),
  },
  'save a flag': {
    ...saving,
    address: `${FLAGS}/kept/changes`,
    open: (page) => reviewed(page, `${N}/flags/kept?tab=about`, 'Kept and renamed'),
    done: said('1 change saved.'),
  },
  'delete a flag older than a day': {
    ...deleting,
    address: `${FLAGS}/aged`,
    open: async (page) => {
      const ask = await asked(page, `${N}/flags/aged?tab=about`, 'Delete flag', 'Delete flag aged?')
      await button(ask, 'Delete flag').click()
      await ask.getByText('Type aged to confirm.').waitFor()
      await field(ask, 'Type the key to confirm').fill('Aged')
      await button(ask, 'Delete flag').click()
      await ask.getByText('Type aged to confirm.').waitFor()
      await field(ask, 'Type the key to confirm').fill('aged')
      return ask
    },
    submit: /^Delete flag$/,
    failed: 'The flag was not deleted',
    done: said('Flag aged deleted.'),
  },
  'delete a flag of today': {
    ...deleting,
    address: `${FLAGS}/young`,
    open: (page) => asked(page, `${N}/flags/young?tab=about`, 'Delete flag', 'Delete flag young?'),
    submit: /^Delete flag$/,
    failed: 'The flag was not deleted',
    done: said('Flag young deleted.'),
  },
  'create a segment': {
    ...creating,
    address: SEGMENTS,
    open: (page) => filled(page, `${N}/segments/new`, undefined, 'made'),
    submit: /^Create segment$/,
    failed: 'The segment was not created',
    done: said('Segment made created.'),
  },
  'save a segment': {
    ...saving,
    address: `${SEGMENTS}/kept/changes`,
    open: (page) => reviewed(page, `${N}/segments/kept?tab=about`, 'Kept and renamed'),
    done: said('1 change saved.'),
  },
  'delete a segment': {
    ...deleting,
    address: `${SEGMENTS}/doomed`,
    open: (page) => asked(page, `${N}/segments/doomed?tab=about`, 'Delete segment', 'Delete segment doomed?'),
    submit: /^Delete segment$/,
    failed: 'The segment was not deleted',
    done: said('Segment doomed deleted.'),
  },
  'create a namespace': {
    ...creating,
    address: '**/api/v1/namespaces',
    open: (page) => filled(page, '/settings/namespaces', 'New namespace', 'made'),
    submit: /^Create namespace$/,
    failed: 'The namespace was not created',
    done: said('Namespace made created.'),
  },
  'rename a namespace': {
    ...saving,
    method: 'PUT',
    address: '**/api/v1/namespaces/kept',
    open: (page) => filled(page, '/settings/namespaces', 'Edit kept', 'Kept and renamed'),
    done: said('Namespace kept changed.'),
  },
  'delete a namespace': {
    ...deleting,
    address: '**/api/v1/namespaces/doomed',
    open: (page) => asked(page, '/settings/namespaces', 'Delete doomed', 'Delete namespace doomed?'),
    submit: /^Delete namespace$/,
    failed: 'The namespace was not deleted',
    done: said('Namespace doomed deleted.'),
  },
}

const ofSessions: Readonly<Record<string, Write>> = {
  'end a session': {
    method: 'DELETE',
    busy: 'Ending…',
    address: '**/auth/v1/tokens/*',
    open: (page) => asked(page, '/settings/sessions', 'End session of Alice', 'End the session of Alice?'),
    submit: /^End session$/,
    failed: 'The session was not ended',
    done: said('The session of Alice has ended.'),
  },
  'end all sessions of a person': {
    method: 'POST',
    busy: 'Ending…',
    address: '**/auth/v1/tokens/revoke',
    open: async (page) => {
      await page.goto('/settings/sessions')
      await button(page, 'End all sessions of Ada').first().click()
      return page.getByRole('alertdialog', { name: 'End all 2 sessions of Ada?' })
    },
    submit: /^End all sessions$/,
    failed: 'The sessions were not ended',
    done: said('2 sessions of Ada ended.'),
  },
}

/** Sends a write through every failure: a refusal, a fault, a broken connection, and a silence with a second click. */
const tried = async (t: Test, page: Page, write: Write): Promise<void> => {
  const keys: (string | undefined)[] = []
  const silence = gate()
  await withFates(page, write.address, [403, 500, 'dropped', () => silence.opened], (headers) =>
    keys.push(headers['idempotency-key']),
  )
  const part = await write.open(page)
  const submit = button(part, write.submit)
  const alert = part.getByRole('alert').filter({ hasText: write.failed })
  for (const [n, words] of [
    'no: 403',
    'not known whether this was done',
    'not known whether this was done',
  ].entries()) {
    await submit.click()
    await comesTo(t, async () => keys.length, n + 1, 'it was sent')
    await alert.getByText(words).waitFor()
    t.equal(await write.done(page).count(), 0, 'nothing says that it was done')
  }
  await submit.click()
  const busy = button(part, write.busy)
  await busy.waitFor()
  t.equal(await busy.getAttribute('aria-disabled'), 'true')
  await busy.click({ force: true })
  silence.open()
  await write.done(page).waitFor()
  t.equal(keys.length, 4, 'a press in the silence sent nothing')
  const [refused, fault, ...again] = keys
  if (write.method === 'POST') {
    t.not(refused, fault, 'after a refusal it is another request')
    t.strictSame(again, [fault, fault], 'after a fault and a broken connection it is the same one')
  } else t.strictSame([...new Set(keys)], [undefined])
}

const DAY_MS = 86_400_000
const FORCED = { forced: [0, 401, 403, 500] }

const seeded = async (t: Test): Promise<Started> => {
  let offset = -2 * DAY_MS
  const now = () => new Date(Date.now() + offset)
  const settings = { 'authentication.methods.token.bootstrap.token': TOKEN, 'rate_limit.enabled': 'false' }
  const service = await startService(t, settings, { now })
  const make = maker(service)
  await make.boolean('aged')
  offset = 0
  for (const key of ['kept', 'young']) await make.boolean(key)
  for (const key of ['kept', 'doomed']) await make.segment(key)
  await granted(service, { name: 'doomed', role: 'viewer' })
  return withNamespaces(service, 'kept', 'doomed')
}

await t.test('every change in the UI survives every failure and is made once', { skip }, async (t) => {
  const service = await seeded(t)
  for (const [what, write] of Object.entries(writes))
    await t.test(what, async (t) => {
      const { page } = await openBrowser(t, service, FORCED)
      await signIn(page, '/settings/preferences')
      await tried(t, page, write)
    })
})

await t.test('ending sessions survives every failure and is done once', { skip }, async (t) => {
  const { service } = await withSessions(t)
  for (const [what, write] of Object.entries(ofSessions))
    await t.test(what, async (t) => {
      const { page } = await openBrowser(t, service, FORCED)
      await signIn(page, '/settings/preferences')
      await tried(t, page, write)
    })
})
