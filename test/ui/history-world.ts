import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { EventLog } from '../../src/events/log.ts'
import { maker } from '../http/flags.ts'
import { onStoppedLog, seedFlags } from '../http/seed-flags.ts'
import { withSession } from './browser.ts'
import { N } from './flag-page.ts'

/** Number of events of the journey. `ROLLCALL_TEST_EVENTS=1000000` runs it with a million. */
const EVENTS = Number(process.env['ROLLCALL_TEST_EVENTS'] ?? 50_000)
const FLAGS = 200
const AT_ONCE = 1000

const REASONS = ['credential_invalid', 'right_missing', 'cross_site', 'token_scoped']
const meta = JSON.stringify({ schema: 1, command: 'RecordRefusal', actor: { kind: 'system' }, instance: 'seed' })

/** Writes refusals, one a second from the first of January on. */
const seedRefusals = async (log: EventLog, count: number): Promise<void> => {
  for (let from = 0; from < count; from += AT_ONCE) {
    const events = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => {
      const time = new Date(Date.UTC(2026, 0, 1) + (from + n) * 1000).toISOString()
      const reason = REASONS[(from + n) % REASONS.length]
      const data = { reason, refusedAt: time, route: '/auth/v1/self', requestId: `r-${from + n}`, more: 0 }
      return { id: randomUUID(), type: 'AuthenticationRefused', time, data: JSON.stringify(data), meta }
    })
    await log.append(`refusal-${randomUUID()}`, events, 'none')
  }
}

type Event = {
  readonly position: string
  readonly summary: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}
type Events = { readonly events: readonly Event[]; readonly nextPageToken: string }

/** Starts a service with many events, a browser that is signed in, and functions that compare the page with the API. */
export const withHistory = async (t: Test) => {
  const { page, service } = await withSession(t, {}, { clipboard: true, forced: [0, 400, 401, 403, 404, 503] })
  await service.reopen(() =>
    onStoppedLog(t, service, async (log) => {
      await seedFlags(log, 'default', FLAGS)
      await seedRefusals(log, EVENTS - 2 * FLAGS)
    }),
  )
  const make = maker(service)
  await make.boolean('checkout')
  await service.request(
    'POST',
    `${N}/flags/checkout/changes`,
    {
      changes: [
        { op: 'flag.update', name: '<img src=x onerror=alert(1)> \u202etxt', enabled: true },
        { op: 'rollout.create', threshold: { percentage: 25, value: true } },
        { op: 'rollout.create', threshold: { percentage: 50, value: false } },
      ],
    },
    { 'event-reason': 'launch {{7*7}} <b>now</b>' },
  )
  const api = async (query: string): Promise<Events> =>
    (await service.request<Events>('GET', `/audit/v1/events?order=desc&limit=100&${query}`)).json
  return { page, service, api }
}

export const eventsOf = (page: Page) => page.getByRole('list', { name: 'Events' }).getByRole('listitem')

/** Positions of all events of the page, with those that were folded. */
export const positionsShown = async (page: Page): Promise<readonly string[]> => {
  const quiet = page.getByRole('button', { name: 'Show quiet events' })
  if (await quiet.isVisible()) await quiet.click()
  for (const fold of await page.getByRole('button', { name: /more in this request$/, expanded: false }).all())
    await fold.click()
  return eventsOf(page)
    .getByRole('link', { name: /^#\d+$/ })
    .allTextContents()
}
