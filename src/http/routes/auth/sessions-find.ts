import { partsOf } from '../../../base/concurrency.ts'
import { sliced } from '../../../base/event-loop.ts'
import { personSearch, SessionsFound } from '../../../contract/history/searches.ts'
import { isLogin } from '../../../events/login.ts'
import { METHODS, type Method } from '../../../events/token.ts'
import { ofStatus, placeOf, type TokenPlace, tokensInOrder } from '../../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import { contextOf } from '../../commands/command-context.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { takePage } from '../../memory/room.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { CommandServices } from '../../services/commands.ts'
import type { SearchMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** Maximum number of sessions that one page examines and finds. */
const EXAMINED = 10_000
const FOUND = 100
const BATCH = 128
/** Number of profiles that are opened at the same time. */
const OPENED = 16

const LOGINS: readonly Method[] = METHODS.filter(isLogin)
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

/** The sessions with their opened profiles. */
async function* withProfiles({ sealer }: Pick<CommandServices, 'sealer'>, docs: readonly TokenDoc[]) {
  for (const part of partsOf(docs, OPENED))
    yield await Promise.all(
      part.map(async (doc) => ({ doc, profile: doc.profile && (await sealer.open(doc.profile)) })),
    )
}

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
  const [wanted, time] = [person.toLowerCase(), service.now().toISOString()]
  const found: TokenDoc[] = []
  let examined = 0
  const begun = from ? LOGINS.indexOf(from.method) : 0
  for (const method of LOGINS.slice(begun)) {
    const where = { method: { equals: [method] }, ...ofStatus.ACTIVE(time) }
    for (let after = method === from?.method ? from.after : undefined; ; ) {
      stop.throwIfAborted()
      if (examined >= EXAMINED || found.length >= FOUND)
        return { found, examined, next: { method, ...(after && { after }) } }
      const page = { descending: true, limit: BATCH, count: 1, ...(after && { after }) }
      const docs = (await tokensInOrder(service.views, where, page)).rows.flatMap(({ doc }) => doc ?? [])
      for await (const part of sliced(withProfiles(service, docs)))
        for (const { doc, profile } of part)
          if (profile && 'text' in profile && isOf(profile.text, wanted)) found.push(doc)
      examined += docs.length
      if (docs.length < BATCH) break
      after = placeOf(docs.at(-1)!, 'createdAt')
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
