import type { Locator, Page } from 'playwright-core'
import { maker } from '../http/flags.ts'
import type { Started } from '../start.ts'
import { tokenNamed } from './ways.ts'

/** Values in the addresses of screens. */
export type Seeded = {
  /** Position after the creation of all data. */
  readonly at: string
  /** Position after the creation of the flags, before their changes. */
  readonly made: string
  /** Ids of a static token and of a session. */
  readonly token: string
  readonly session: string
}

/** Screen with its states in addition to the initial one. */
export type Screen = {
  readonly name: string
  readonly path: string | ((seeded: Seeded) => string)
  /** Locator that is visible once the page has its data. */
  readonly shows: (page: Page) => Locator
  /** By name: steps from the initial state. Their routes stay until the state was looked at, because pages try again. */
  readonly states?: Readonly<Record<string, (page: Page, service: Started) => Promise<unknown>>>
  /** Whether it can also show the past. */
  readonly past?: true
  readonly signedOut?: true
}

const N = '/ns/default'
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name }).waitFor()
const question = (page: Page, name: string) => page.getByRole('alertdialog', { name }).waitFor()
const heading = (name: string | RegExp) => (page: Page) => page.getByRole('heading', { name, level: 1 })

const openReview = async (page: Page) => {
  await button(page, 'Review changes').click()
  await dialog(page, 'Review changes')
}
const save = async (page: Page) => {
  await openReview(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click()
}

const addRollout = async (page: Page) => {
  await button(page, 'Add rollout').click()
  await page.getByRole('slider', { name: 'Percentage slider' }).waitFor()
}

const flagsRead = '**/api/v1/namespaces/default/flags?*'
const refusedFlags = async (page: Page, status: number, words: string) => {
  await page.route(flagsRead, (route) => route.fulfill({ status, json: { code: 2, message: 'refused', details: [] } }))
  await page.reload()
  await page.getByRole('alert').getByText(words).waitFor()
}

/** Screens of the flag list. */
export const ofFlags: readonly Screen[] = [
  {
    name: 'flags',
    path: `${N}/flags`,
    shows: (page) => page.getByRole('link', { name: 'New checkout' }),
    past: true,
    states: {
      'no match': async (page) => {
        await page.getByRole('searchbox', { name: 'Search flags' }).fill('nothing-of-this-name')
        await page.getByRole('heading', { name: 'No flags match' }).waitFor()
      },
      'not loaded': (page) => refusedFlags(page, 500, 'The flags could not be loaded'),
      forbidden: (page) => refusedFlags(page, 403, 'You may not see this'),
      'another search not loaded': async (page) => {
        await page.route(flagsRead, (route) => route.fulfill({ status: 503, json: { message: 'not now' } }))
        await page.getByRole('searchbox', { name: 'Search flags' }).fill('new')
        await page.getByRole('alert').waitFor()
      },
    },
  },
  {
    name: 'no flags yet',
    path: '/ns/empty/flags',
    shows: (page) => page.getByRole('heading', { name: 'No flags yet' }),
  },
  {
    name: 'new flag',
    path: `${N}/flags/new`,
    shows: heading('New flag'),
    past: true,
    states: {
      wrong: async (page) => {
        await button(page, 'Create flag').click()
        await page.getByText('Give the flag a name.').waitFor()
      },
    },
  },
]

const editVariant = async (page: Page, attachment: string) => {
  await button(page, 'Edit semantic').click()
  await page.getByRole('textbox', { name: 'Attachment' }).fill(attachment)
}
const editWeights = async (page: Page) => {
  await button(page, 'Edit rule 1').click()
  await page.getByRole('textbox', { name: 'Weight of classic' }).waitFor()
}

/** Screens of a flag. */
export const ofFlag: readonly Screen[] = [
  {
    name: 'Boolean flag',
    path: `${N}/flags/new-checkout`,
    shows: heading('New checkout'),
    past: true,
    states: {
      'editor open': addRollout,
      wrong: async (page) => {
        await addRollout(page)
        await page.getByRole('textbox', { name: 'Percentage', exact: true }).fill('abc')
        await button(page, 'Review changes').click()
        await page.getByText('Enter a number from 0 to 100.').waitFor()
      },
      'dialog of the review open': async (page) => {
        await addRollout(page)
        await openReview(page)
      },
      'dialog of the position open': async (page) => {
        await button(page, 'Move rollout 1 to…').click()
        await dialog(page, 'Move rollout 1')
      },
      'question before leaving open': async (page) => {
        await addRollout(page)
        await page.getByRole('link', { name: 'Rollcall' }).click()
        await question(page, 'Leave without saving?')
      },
    },
  },
  {
    name: 'about a flag',
    path: `${N}/flags/new-checkout?tab=about`,
    shows: (page) => button(page, 'Delete flag'),
    past: true,
    states: {
      'question before the deletion open': async (page) => {
        await button(page, 'Delete flag').click()
        await question(page, 'Delete flag new-checkout?')
      },
      'dialog of the copy open': async (page) => {
        await button(page, 'Copy to namespace…').click()
        await dialog(page, 'Copy flag new-checkout')
      },
    },
  },
  {
    name: 'history of a flag',
    path: `${N}/flags/new-checkout?tab=history`,
    shows: (page) => page.getByRole('list', { name: 'Events' }),
    states: {
      'change open': async (page) => {
        await button(page, 'flag default/new-checkout: name, description, metadata changed').click()
        await page.getByRole('list', { name: 'Changes' }).waitFor()
      },
    },
  },
  {
    name: 'variant flag',
    path: `${N}/flags/search-ranking`,
    shows: (page) => page.getByText('semantic').first(),
    past: true,
    states: {
      'editor of a variant open': (page) => editVariant(page, '{"depth":4}'),
      'wrong attachment': async (page) => {
        await editVariant(page, '{"depth":')
        await button(page, 'Review changes').click()
        await page.getByText('This is not JSON').first().waitFor()
      },
      'editor of a rule open': editWeights,
      'wrong weights': async (page) => {
        await editWeights(page)
        await page.getByRole('textbox', { name: 'Weight of classic' }).fill('70')
        await page.getByText('The weights add up to 120 %: at most 100.').waitFor()
      },
      'dialog of the review open': async (page) => {
        await editVariant(page, '{"depth":4}')
        await editWeights(page)
        await page.getByRole('textbox', { name: 'Weight of classic' }).fill('20')
        await openReview(page)
      },
      'question before the deletion of a variant open': async (page) => {
        await button(page, 'Delete semantic').click()
        await question(page, 'Delete variant semantic?')
      },
      'menu open': async (page) => {
        await button(page, 'More actions').click()
        await page.getByRole('menuitem', { name: 'Copy as curl' }).waitFor()
      },
    },
  },
  {
    name: 'flag with a conflict',
    path: `${N}/flags/dark-mode`,
    shows: heading('dark-mode'),
    states: {
      'conflict open': async (page, service) => {
        await addRollout(page)
        await maker(service).threshold('dark-mode', 10, false)
        await save(page)
        await question(page, 'This flag was changed meanwhile')
      },
    },
  },
  { name: 'flag not there', path: `${N}/flags/none-such`, shows: heading('Flag not found') },
]

const addConstraint = (page: Page) => button(page, 'Add constraint').click()

/** Screens of segments. */
export const ofSegments: readonly Screen[] = [
  {
    name: 'segments',
    path: `${N}/segments`,
    shows: (page) => page.getByRole('rowheader', { name: 'staff' }),
    past: true,
    states: {
      'no match': async (page) => {
        await page.getByRole('searchbox', { name: 'Search segments' }).fill('nothing-of-this-name')
        await page.getByRole('heading', { name: 'No segments match' }).waitFor()
      },
    },
  },
  {
    name: 'no segments yet',
    path: '/ns/empty/segments',
    shows: (page) => page.getByRole('heading', { name: 'No segments yet' }),
  },
  {
    name: 'new segment',
    path: `${N}/segments/new`,
    shows: heading('New segment'),
    past: true,
    states: {
      wrong: async (page) => {
        await button(page, 'Create segment').click()
        await page.getByText('Give the segment a name.').waitFor()
      },
    },
  },
  {
    name: 'segment',
    path: `${N}/segments/staff`,
    shows: heading('staff'),
    past: true,
    states: {
      'entity tried': async (page) => {
        await button(page, 'Try this entity').click()
        await page.getByText('Not in it').waitFor()
      },
      'wrong constraint': async (page) => {
        await addConstraint(page)
        await button(page, 'Review changes').click()
        await page.getByText('Name the property.').waitFor()
      },
      'dialog of the review open': async (page) => {
        await page.getByRole('radio', { name: 'Any of them' }).check()
        await openReview(page)
      },
      'question before leaving open': async (page) => {
        await page.getByRole('radio', { name: 'Any of them' }).check()
        await page.getByRole('link', { name: 'Rollcall' }).click()
        await question(page, 'Leave without saving?')
      },
      'conflict open': async (page, service) => {
        await page.getByRole('radio', { name: 'Any of them' }).check()
        await maker(service).constraint('staff', { property: 'team', operator: 'eq', value: 'shop' })
        await save(page)
        await question(page, 'This segment was changed meanwhile')
      },
    },
  },
  {
    name: 'about a segment',
    path: `${N}/segments/beta?tab=about`,
    shows: (page) => button(page, 'Delete segment'),
    past: true,
    states: {
      'dialog of its uses open': async (page) => {
        await button(page, 'Delete segment').click()
        await dialog(page, 'Segment beta is in use')
      },
    },
  },
  { name: 'segment not there', path: `${N}/segments/none-such`, shows: heading('Segment not found') },
]

/** Screens of the evaluation. */
export const ofEvaluate: readonly Screen[] = [
  {
    name: 'evaluate',
    path: `${N}/evaluate`,
    shows: heading('Evaluate'),
    states: {
      wrong: async (page) => {
        await button(page, 'Evaluate').click()
        await page.getByText('Choose a flag.').waitFor()
      },
      'list of flags open': async (page) => {
        await page.getByRole('combobox', { name: 'Flag' }).fill('new')
        await page.getByRole('option', { name: 'new-checkout' }).waitFor()
      },
    },
  },
  {
    name: 'answer',
    path: `${N}/evaluate?flag=new-checkout&entity=user-42&c.plan=pro`,
    shows: (page) => page.getByRole('list', { name: 'Steps' }),
    past: true,
  },
  {
    name: 'variant answer',
    path: `${N}/evaluate?flag=search-ranking&entity=user-42&c.plan=beta`,
    shows: (page) => page.getByRole('list', { name: 'Steps' }),
  },
]

const openEvent = async (page: Page) => {
  await page.getByRole('button', { name: /^static token "nightly" issued/ }).click()
  await button(page, 'Prove this event').waitFor()
}

/** Screens of the history. */
export const ofHistory: readonly Screen[] = [
  {
    name: 'history',
    path: '/history',
    shows: (page) => page.getByRole('list', { name: 'Events' }),
    past: true,
    states: {
      'event open': openEvent,
      'question before personal data open': async (page) => {
        await openEvent(page)
        await button(page, 'Show personal data').click()
        await question(page, 'Show personal data')
      },
      'proof open': async (page) => {
        await openEvent(page)
        await button(page, 'Prove this event').click()
        await page.getByRole('link', { name: 'Download the proof' }).waitFor()
      },
      'dialog of the export open': async (page) => {
        await page.getByRole('button', { name: /^Export \d/ }).click()
        await dialog(page, 'Export events')
      },
      'part of the density chosen, as a table': async (page) => {
        await page.getByRole('slider', { name: 'Begin of the range' }).press('ArrowRight')
        await button(page, 'Show as table').click()
        await page.getByRole('table', { name: 'Events by time' }).waitFor()
      },
    },
  },
  {
    name: 'history with filters',
    path: '/history?type=Flag*,!FlagRegistered&namespaceKey=default&q=new-checkout',
    shows: (page) => page.getByRole('list', { name: 'Events' }),
    states: {
      'no match': async (page) => {
        await page.getByRole('searchbox', { name: 'Search history' }).fill('nothing-of-this-name')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'No events match' }).waitFor()
      },
      'suggestions open': async (page) => {
        await page.getByRole('searchbox', { name: 'Search history' }).fill('type:Flag')
        await page.getByRole('option', { name: 'FlagCreated' }).waitFor()
        await page.keyboard.press('ArrowDown')
      },
      wrong: async (page) => {
        await page.getByRole('searchbox', { name: 'Search history' }).fill('type:NoSuchType')
        await page.keyboard.press('Enter')
        await page.getByText('This version has no type').waitFor()
      },
    },
  },
  {
    name: 'event',
    path: ({ at }) => `/history/${at}`,
    shows: (page) => button(page, 'Prove this event'),
    past: true,
  },
  { name: 'missing event', path: '/history/999999', shows: heading('Event not found') },
  {
    name: 'compare',
    path: ({ made }) => `/history/compare?stream=flag-default%2Bnew-checkout&a=${made}`,
    shows: (page) => page.getByRole('heading', { name: 'Segments that it uses' }),
    past: true,
    states: {
      'in full': async (page) => {
        await page.getByRole('radio', { name: 'Full' }).check()
        await page.getByRole('button', { name: /^Show \d+ unchanged$/ }).waitFor()
      },
      'wrong moment': async (page) => {
        await page.getByRole('textbox', { name: 'Moment A' }).fill('99999999')
        await page.getByText('must not be beyond the last position').waitFor()
      },
      'list of flags and segments open': async (page) => {
        await page.getByRole('combobox', { name: 'What' }).fill('new')
        await page.getByRole('option', { name: 'flag new-checkout' }).waitFor()
      },
    },
  },
  {
    name: 'compare a namespace',
    path: ({ made }) => `/history/compare?ns=default&a=${made}`,
    shows: (page) => page.getByRole('heading', { name: 'flag search-ranking' }),
  },
  {
    name: 'compare, no moments chosen',
    path: '/history/compare',
    shows: (page) => page.getByRole('heading', { name: 'Choose two moments' }),
  },
  {
    name: 'restored state',
    path: ({ made }) => `${N}/flags/new-checkout?restore=${made}`,
    shows: (page) => page.getByRole('region', { name: 'Restored state' }),
    states: { 'dialog of the review open': openReview },
  },
]

const makeToken = async (page: Page) => {
  await button(page, 'New token').click()
  await dialog(page, 'New static token')
}

const showToken = async (page: Page) => {
  await makeToken(page)
  await page.getByRole('textbox', { name: 'Name' }).fill('ci-test')
  await page.getByRole('combobox', { name: 'Role' }).selectOption({ label: 'Full access' })
  await button(page, 'Create token').click()
  await dialog(page, 'Token created')
}

/** Screens of access, tokens, sessions and other settings. */
export const ofSettings: readonly Screen[] = [
  {
    name: 'access',
    path: '/access',
    shows: (page) => page.getByRole('rowheader', { name: 'ci-prod' }),
    past: true,
    states: {
      'one token': async (page) => {
        await page.getByRole('combobox', { name: 'Token' }).fill('ni')
        await page.getByRole('option', { name: 'nightly' }).click()
        await page.getByRole('heading', { name: 'Can nightly change flags in every namespace now?' }).waitFor()
        await page.getByText('Yes', { exact: true }).waitFor()
      },
    },
  },
  {
    name: 'static tokens',
    path: '/settings/tokens',
    shows: (page) => page.getByRole('rowheader', { name: 'nightly' }),
    past: true,
    states: {
      'dialog open': makeToken,
      'wrong in the dialog': async (page) => {
        await makeToken(page)
        await page.getByRole('combobox', { name: 'Expiration' }).selectOption({ label: 'Custom date and time' })
        await page.getByRole('radio', { name: 'One namespace' }).check()
        await button(page, 'Create token').click()
        await page.getByText('Give the token a name.').waitFor()
      },
      'dialog of the search open': async (page) => {
        await button(page, 'Find a token').click()
        await dialog(page, 'Find a token')
        await button(page, 'Find').click()
        await page.getByText('Paste a client token.').waitFor()
      },
      'token shown': showToken,
      'question before a shown token is left open': async (page) => {
        // The dialog appears only for navigation within the app.
        for (const key of ['f', 't']) {
          await page.keyboard.press('g')
          await page.keyboard.press(key)
          await page.waitForURL(key === 'f' ? '**/flags' : '**/tokens')
        }
        await showToken(page)
        await page.evaluate('history.back()')
        await question(page, 'Leave without storing the token?')
      },
      'selection, question before a deletion open': async (page) => {
        for (const name of ['ci-prod', 'nightly']) await page.getByRole('checkbox', { name: `Select ${name}` }).click()
        await button(page, 'Delete 2 tokens').click()
        await question(page, 'Delete 2 tokens?')
      },
      'no match': async (page) => {
        await page.getByRole('searchbox', { name: 'Search tokens' }).fill('nothing-of-this-name')
        await page.getByRole('heading', { name: 'No tokens match' }).waitFor()
      },
    },
  },
  {
    name: 'token',
    path: ({ token }) => `/settings/tokens/${token}`,
    shows: heading('nightly'),
    past: true,
    states: {
      'question before the deletion open': async (page) => {
        await button(page, 'Delete token').click()
        await question(page, 'Delete token nightly?')
      },
    },
  },
  {
    name: 'missing token',
    path: '/settings/tokens/5f0c5a7e-6a51-4f2e-9d52-0d8a3d0f3a11',
    shows: heading('Token not found'),
  },
  {
    name: 'sessions',
    path: '/settings/sessions',
    shows: (page) => page.getByRole('rowheader', { name: 'Alice' }),
    past: true,
    states: {
      'sessions of a person found': async (page) => {
        await button(page, 'Find a person').click()
        await page.getByRole('textbox', { name: 'E-mail address or login name' }).fill('ada@example.com')
        await button(page, 'Find sessions').click()
        await page.getByText('2 sessions found').waitFor()
      },
      'question open': async (page) => {
        await button(page, 'End session of Alice').click()
        await question(page, 'End the session of Alice?')
      },
    },
  },
  {
    name: 'session',
    path: ({ session }) => `/settings/sessions/${session}`,
    shows: heading('Ada'),
    past: true,
    states: {
      'question open': async (page) => {
        await button(page, 'End all sessions of Ada').click()
        await question(page, 'End all 2 sessions of Ada?')
      },
    },
  },
  {
    name: 'missing session',
    path: '/settings/sessions/none-such',
    shows: heading('Session not found'),
  },
  {
    name: 'namespaces',
    path: '/settings/namespaces',
    shows: (page) => page.getByRole('rowheader', { name: 'empty' }),
    past: true,
    states: {
      'wrong in the dialog': async (page) => {
        await button(page, 'New namespace').click()
        await dialog(page, 'New namespace')
        await button(page, 'Create namespace').click()
        await page.getByText('Give the namespace a name.').waitFor()
      },
      'dialog of a change open': async (page) => {
        await button(page, 'Edit empty').click()
        await page.getByRole('dialog').waitFor()
      },
      'question before a deletion open': async (page) => {
        await button(page, 'Delete empty').click()
        await page.getByRole('alertdialog').waitFor()
      },
    },
  },
  { name: 'preferences', path: '/settings/preferences', shows: heading('Preferences') },
  {
    name: 'system',
    path: '/system',
    shows: (page) => page.getByRole('link', { name: /Tokens issued in the history$/ }),
    states: {
      'a figure as a table': async (page) => {
        await button(page, 'Show Tokens issued as table').click()
        await page.getByRole('table', { name: 'Tokens issued by day' }).waitFor()
      },
    },
  },
]

const openClock = async (page: Page) => {
  await button(page, 'Time: now').click()
  await dialog(page, 'Look at another moment')
}

const REF = '5f0c5a7e-6a51-4f2e-9d52-0d8a3d0f3a11'
/** Address after a failed sign-in with this reason. */
const refusedSignIn = (reason: string) => `/login?error=${reason}&ref=${REF}`

const noGrant = async (page: Page) => {
  const asked = '**/auth/v1/self/session'
  const refused = { requestId: REF, name: 'Ada Lovelace', email: 'ada@example.com', login: 'ada' }
  await page.route(asked, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), refused } })
  })
  await page.goto(refusedSignIn('no_grant'))
  await page.getByText('The provider says that you are Ada Lovelace (ada@example.com, ada).').waitFor()
  await page.unroute(asked)
}

/** Asset without which a page is broken. */
const BROKEN = '**/ui/assets/namespaces-*.js'

/** Screens of the sign-in and the shell. */
export const ofShell: readonly Screen[] = [
  {
    name: 'sign-in',
    path: '/login',
    shows: (page) => button(page, 'Use a client token'),
    signedOut: true,
    states: {
      wrong: async (page) => {
        await button(page, 'Use a client token').click()
        await button(page, 'Sign in').click()
        await page.getByText('Paste a client token.').waitFor()
      },
      'signed out': async (page) => {
        await page.evaluate("localStorage.setItem('rollcall.signed-out', 'here')")
        await page.reload()
        await page.getByRole('status').waitFor()
        await page.evaluate("localStorage.removeItem('rollcall.signed-out')")
      },
    },
  },
  {
    name: 'sign-in refused',
    path: refusedSignIn('access_denied'),
    shows: (page) => page.getByRole('alert'),
    signedOut: true,
    states: { 'no grant': noGrant },
  },
  { name: 'signed in', path: '/signed-in', shows: (page) => page.getByText('You can close this tab.') },
  { name: 'no such page', path: '/nowhere', shows: heading('No such page') },
  {
    name: 'shell',
    path: '/settings/preferences',
    shows: heading('Preferences'),
    states: {
      'palette open': async (page) => {
        await page.keyboard.press('Control+k')
        await dialog(page, 'Command palette')
      },
      'palette with results': async (page) => {
        await page.keyboard.press('Control+k')
        await page.getByRole('textbox', { name: 'Type a command or search' }).fill('new')
        await page.getByRole('group', { name: 'Flags' }).getByRole('option').first().waitFor()
      },
      'list of shortcuts open': async (page) => {
        await page.keyboard.press('?')
        await dialog(page, 'Keyboard shortcuts')
      },
      'menu of the account open': async (page) => {
        await page.getByRole('button', { name: /^Account: / }).click()
        await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).waitFor()
      },
      'clock open': openClock,
      'clock, wrong': async (page) => {
        await openClock(page)
        await button(page, 'Show this moment').click()
        await page.getByRole('alert').waitFor()
      },
      'panel of the integrity open': async (page) => {
        await page.getByRole('button', { name: /^Integrity: / }).click()
        await dialog(page, 'Integrity')
      },
      'history broken': async (page) => {
        await page.route('**/audit/v1/ledger', async (route) => {
          const report = (await (await route.fetch()).json()) as object
          await route.fulfill({
            json: { ...report, state: 'diverged', scrub: { firstBad: { index: 9, kind: 'changed' } } },
          })
        })
        await page.reload()
        await page.getByText('The history does not match what was sealed (from #9). Tell your auditors.').waitFor()
      },
      'list of namespaces open': async (page) => {
        await page.getByRole('combobox', { name: 'Namespace' }).fill('em')
        await page.getByRole('option', { name: 'empty' }).waitFor()
      },
      'rest of the navigation open': async (page) => {
        const more = button(page, 'More')
        if (await more.isVisible()) await more.click()
      },
      'session ended': async (page) => {
        await page.route('**/auth/v1/tokens?*', (route) =>
          route.fulfill({ status: 401, json: { code: 16, message: 'unauthenticated', details: [] } }),
        )
        await page.keyboard.press('g')
        await page.keyboard.press('t')
        await dialog(page, 'Your session has ended')
      },
      'broken page': async (page) => {
        await page.route(BROKEN, (route) => route.abort())
        await page.goto('/settings/namespaces')
        await page.getByRole('heading', { name: 'Something in this page broke', level: 1 }).waitFor()
        await page.unroute(BROKEN)
      },
      'service unreachable': async (page) => {
        await page.route('**/auth/v1/tokens?*', (route) => route.abort())
        await page.keyboard.press('g')
        await page.keyboard.press('t')
        await page.getByText('The service cannot be reached. What you see may be old.').waitFor()
      },
    },
  },
]

const explained = (chip: string, why: string) => async (page: Page) => {
  await button(page, chip).focus()
  await page.getByText(why).waitFor()
}

/** Screens of an open, read-only service. */
export const ofOpenService: readonly Screen[] = [
  {
    name: 'open and read-only',
    path: `${N}/flags`,
    shows: (page) => button(page, 'Read-only'),
    signedOut: true,
    states: {
      'open access explained': explained('Open access', 'Everybody who reaches this address may do everything.'),
      'read-only explained': explained('Read-only', 'This instance is read-only.'),
      'menu of the account open': async (page) => {
        await button(page, 'Account: Nobody').click()
        await page.getByRole('menu').waitFor()
      },
    },
  },
  { name: 'flag that cannot be made', path: `${N}/flags/new`, shows: heading('New flag'), signedOut: true },
]

/** Creates the data of a typical deployment. */
export const seeded = async (service: Started): Promise<Omit<Seeded, 'session'>> => {
  const make = maker(service)
  await maker(service, 'empty').namespace()
  await make.segment('beta', [{ property: 'plan', operator: 'eq', value: 'beta' }])
  await make.segment('staff', [
    { property: 'email', operator: 'suffix', value: '@example.com' },
    { property: 'plan', operator: 'isoneof', value: '["pro","team"]' },
    { type: 'NUMBER_COMPARISON_TYPE', property: 'seats', operator: 'gte', value: '10' },
    { type: 'DATETIME_COMPARISON_TYPE', property: 'since', operator: 'lt', value: '2031-06-10' },
    { type: 'BOOLEAN_COMPARISON_TYPE', property: 'paying', operator: 'true' },
  ])
  for (const key of ['new-checkout', 'dark-mode', 'invoice-pdf']) await make.boolean(key)
  const newest = '/audit/v1/events?order=desc&limit=1'
  const made = (await service.request<{ events: { position: string }[] }>('GET', newest)).json.events[0]!.position
  await make.updateFlag('new-checkout', {
    name: 'New checkout',
    description: 'The checkout of one page.',
    metadata: { team: 'shop', issue: 42 },
  })
  await make.bySegment('new-checkout', { segmentKeys: ['beta', 'staff'] })
  await make.threshold('new-checkout', 25)
  await make.variantFlag('search-ranking')
  // Longer than the window, so that it scrolls.
  const long = JSON.stringify({ boosts: Array.from({ length: 800 }, (_, n) => n / 4) })
  const classic = await make.variant('search-ranking', 'classic', long)
  const semantic = await make.variant('search-ranking', 'semantic', long)
  await make.rule('search-ranking', { segmentKey: 'beta' }, { [classic]: 50, [semantic]: 50 })
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  await tokenNamed(service, 'ci-prod', { expiresAt: inDays(27) })
  await tokenNamed(service, 'storefront', { expiresAt: inDays(300), namespaceKey: 'default' })
  const { headers, json } = await service.request<{ authentication: { id: string } }>('POST', '/auth/v1/method/token', {
    name: 'nightly',
    expiresAt: inDays(3),
  })
  return { at: String(headers['event-position']), made, token: json.authentication.id }
}
