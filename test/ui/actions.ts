import type { Locator, Page } from 'playwright-core'
import { openTab } from './browser.ts'
import { button, said } from './flag-page.ts'

/** Action of a user: the right that it needs in a namespace, its control, and the effect of a click. */
export type Action = {
  readonly right: string
  readonly namespaceKey: string
  readonly path: string
  readonly control: (page: Page) => Locator
  readonly then: (page: Page) => Promise<void>
}

export const named = async (part: Page | Locator, name: string, submit: string) => {
  await part.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await button(part, submit).click()
}
const confirmed = async (page: Page, submit: string, words: string) => {
  await button(page.getByRole('alertdialog'), submit).click()
  await said(page, words)
}

/** Actions that create, change and delete flags or segments of a namespace. */
const ofThing = (thing: 'flag' | 'segment', namespaceKey: string, part: string): readonly Action[] => {
  const list = `/ns/${namespaceKey}/${thing}s`
  const Thing = thing === 'flag' ? 'Flag' : 'Segment'
  return [
    {
      right: `${thing}.create`,
      namespaceKey,
      path: list,
      control: (page) => page.getByRole('main').getByRole('link', { name: `New ${thing}`, exact: true }),
      then: async (page) => {
        await named(page, 'made', `Create ${thing}`)
        await said(page, `${Thing} made created.`)
      },
    },
    {
      right: `${thing}.update`,
      namespaceKey,
      path: `${list}/kept`,
      control: (page) => button(page, part),
      then: async (page) => {
        await button(page, 'Discard changes').click()
        await (await openTab(page, 'About')).getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed')
        await button(page, 'Review changes').click()
        await button(page.getByRole('dialog'), 'Save changes').click()
        await said(page, '1 change saved.')
      },
    },
    {
      right: `${thing}.delete`,
      namespaceKey,
      path: `${list}/kept?tab=about`,
      control: (page) => button(page, `Delete ${thing}`),
      then: (page) => confirmed(page, `Delete ${thing}`, `${Thing} kept deleted.`),
    },
  ]
}

const ofNamespaces: readonly Action[] = [
  {
    right: 'namespace.create',
    namespaceKey: '*',
    path: '/settings/namespaces',
    control: (page) => button(page, 'New namespace'),
    then: async (page) => {
      await named(page.getByRole('dialog'), 'made', 'Create namespace')
      await said(page, 'Namespace made created.')
    },
  },
  {
    right: 'namespace.delete',
    namespaceKey: '*',
    path: '/settings/namespaces',
    // The last visible one, which is the empty namespace if all are visible.
    control: (page) => page.getByRole('button', { name: /^Delete (shop|vacant)$/ }).last(),
    then: (page) => confirmed(page, 'Delete namespace', 'Namespace vacant deleted.'),
  },
  {
    right: 'namespace.update',
    namespaceKey: 'shop',
    path: '/settings/namespaces',
    control: (page) => button(page, 'Edit shop'),
    then: async (page) => {
      await named(page.getByRole('dialog'), 'Renamed', 'Save changes')
      await said(page, 'Namespace shop changed.')
    },
  },
]

const ofTokens = (namespaceKey: string): readonly Action[] => [
  {
    right: 'token.create',
    namespaceKey,
    path: '/settings/tokens',
    control: (page) => button(page, 'New token'),
    then: async (page) => {
      const form = page.getByRole('dialog')
      await form.getByRole('combobox', { name: 'Role' }).first().selectOption('viewer')
      await named(form, 'made', 'Create token')
      await page.getByRole('dialog', { name: 'Token created' }).waitFor()
    },
  },
  {
    right: 'token.revoke',
    namespaceKey,
    path: '/settings/tokens',
    control: (page) => button(page, 'Delete bound'),
    then: (page) => confirmed(page, 'Delete token', 'Token bound deleted.'),
  },
]

/** Searches, each a dialog. */
const searches: readonly Action[] = [
  {
    right: 'audit.read',
    namespaceKey: '*',
    path: '/settings/tokens',
    control: (page) => button(page, 'Find a token'),
    then: async (page) => {
      const dialog = page.getByRole('dialog', { name: 'Find a token' })
      await dialog.getByLabel('Client token').fill('of another system')
      await button(dialog, 'Find').click()
      await dialog.getByText('No token of Rollcall has this value.').waitFor()
      await button(dialog, 'Close').click()
    },
  },
  {
    right: 'token.read',
    namespaceKey: '*',
    path: '/settings/sessions',
    control: (page) => button(page, 'Find a person'),
    then: async (page) => {
      const dialog = page.getByRole('dialog', { name: 'Find a person' })
      await dialog.getByRole('textbox', { name: 'E-mail address or login name' }).fill('ada@example.com')
      await button(dialog, 'Find sessions').click()
      await dialog.getByText('No session found among 0 live sessions.').waitFor()
      await button(dialog, 'Close').click()
    },
  },
]

const evaluation = (namespaceKey: string): Action => ({
  right: 'flag.evaluate',
  namespaceKey,
  path: `/ns/${namespaceKey}/evaluate`,
  control: (page) => button(page, 'Evaluate'),
  then: async (page) => {
    await page.getByRole('combobox', { name: 'Flag', exact: true }).fill('asked')
    await page.getByRole('option', { name: 'asked' }).click()
    const answered = page.waitForResponse(/\/evaluate\/v1\//)
    await button(page, 'Evaluate').click()
    await answered
  },
})

/** Dry run of a flag without changes. */
const trial = (namespaceKey: string): Action => ({
  right: 'flag.update',
  namespaceKey,
  path: `/ns/${namespaceKey}/flags/asked`,
  control: (page) => button(page, 'Try this entity'),
  then: (page) => page.getByRole('heading', { name: 'Answers now' }).waitFor(),
})

/** Actions in the namespaces `shop` and `till`, and on namespaces. They delete `kept` and `vacant`. */
export const actions: readonly Action[] = [
  ...['shop', 'till'].flatMap((ns) => [
    ...ofThing('flag', ns, 'Add rollout'),
    ...ofThing('segment', ns, 'Add constraint'),
    evaluation(ns),
    trial(ns),
  ]),
  ...searches,
  ...ofTokens('shop'),
  ...ofNamespaces,
]
