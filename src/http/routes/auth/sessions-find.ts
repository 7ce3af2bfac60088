import { personSearch, SessionsFound } from '../../../contract/history/searches.ts'
import { tokens } from '../../../projections/tokens.ts'
import { type PersonCursor, sessionsOf } from '../../auth/person-sessions.ts'
import { contextOf } from '../../commands/command-context.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { takePage } from '../../memory/room.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { SearchMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

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
