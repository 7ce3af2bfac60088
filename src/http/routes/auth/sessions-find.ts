import { personSearch, SessionsFound } from '../../../contract/history/searches.ts'
import type { Method } from '../../../events/token.ts'
import { placeOf, type TokenPlace } from '../../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import { contextOf } from '../../commands/command-context.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { BATCH, EXAMINED, LOGINS, liveLogins } from '../../login/live-logins.ts'
import { takePage } from '../../memory/room.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { CommandServices } from '../../services/commands.ts'
import type { SearchMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** Maximum number of sessions that one page finds. */
const FOUND = 100

/** Attributes of a profile that name a person: email addresses, and login names. */
const NAMES = /^(?:\w+\.)?(?:email|preferred_username)$/

/** Last session examined by a page. */
export type PersonCursor = { readonly method: Method; readonly after?: TokenPlace }
type Search = {
  readonly found: readonly TokenDoc[]
  readonly examined: number
  readonly next: PersonCursor | undefined
}

const isOf = (profile: string, person: string): boolean =>
  Object.entries(JSON.parse(profile) as Readonly<Record<string, unknown>>).some(
    ([name, value]) => NAMES.test(name) && typeof value === 'string' && value.toLowerCase() === person,
  )

/**
 * Finds the live sessions of the person with this email address or login name, regardless of case. Opens the profiles
 * of at most 10,000 live sessions after the cursor, newest first by method; `next` continues the search. The search
 * ends when the signal aborts.
 */
export const sessionsOf = async (
  service: Pick<CommandServices, 'sealer' | 'now' | 'views'>,
  person: string,
  from: PersonCursor | undefined,
  stop: AbortSignal,
): Promise<Search> => {
  const wanted = person.toLowerCase()
  const found: TokenDoc[] = []
  let examined = 0
  const isFull = () => examined >= EXAMINED || found.length >= FOUND
  for (const method of from ? LOGINS.slice(LOGINS.indexOf(from.method)) : LOGINS) {
    if (isFull()) return { found, examined, next: { method } }
    for await (const logins of liveLogins(service, method, method === from?.method ? from.after : undefined, stop)) {
      for (const { doc, profile } of logins)
        if (profile && 'text' in profile && isOf(profile.text, wanted)) found.push(doc)
      examined += logins.length
      if (isFull() && logins.length === BATCH)
        return { found, examined, next: { method, after: placeOf(logins.at(-1)!.doc, 'createdAt') } }
    }
  }
  return { found, examined, next: undefined }
}

/** Scope of the page tokens. They do not contain the person. */
const SCOPE = ['sessions-of-person']

/** POST /auth/v1/sessions/find: the live sessions of a person, by email address or login name (api.md §5.4 A20). */
export const authSessionsFindRoutes: SearchMount = (app, service) => {
  const { history, historyReads, names, now, pageTokens, sealer, uses, closed } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/sessions/find',
    ...authentication,
    access: { credential: 'always', namespace: 'none', right: 'token.read' },
    summary: 'Find the live sessions of a person at all providers, by exact email address or login name.',
    writes: false,
    body: personSearch,
    errors: ['invalid_page_token', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: SessionsFound,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        await takePage(call)
        const { person, pageToken } = call.body
        const from = pageToken === '' ? undefined : (pageTokens.read(SCOPE, pageToken) as PersonCursor)
        await waitForTokenView(service)
        // The record names neither the person nor the sessions.
        const record = { format: 'json', filter: {}, fromIndex: 0, toIndex: ((await history.head())?.index ?? -1) + 1 }
        await historyReads.exported(contextOf(call, service), call.route, { ...record, personal: true })
        const { found, examined, next } = await sessionsOf(service, person, from, call.request.stop)
        const used = await uses.lastOf(found.map(({ id }) => id))
        const authentications = await Promise.all(
          found.map((doc) => presentAuthentication(doc, names, sealer, now(), used.get(doc.id))),
        )
        const nextPageToken = next ? pageTokens.write(SCOPE, next) : ''
        return leavingOut(service, closed.count(tokens.category), {
          body: { authentications, examined, nextPageToken },
        })
      }),
  })
}
