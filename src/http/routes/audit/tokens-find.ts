import { rowNow } from '../../../as-of/as-of.ts'
import { TokenFound, tokenSearch } from '../../../contract/history/searches.ts'
import { readable } from '../../../projections/projection.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import type { Match } from '../../../projections/views.ts'
import { idBy } from '../../auth/token-records.ts'
import { countReading } from '../../history/event-page.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { route } from '../../route/route.ts'
import { searching } from '../../route/statements.ts'
import type { SearchMount, SearchService } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** Maximum number of tokens that are counted as not searchable. */
const COUNTED = 50_000

/** Unreadable tokens with their last known fingerprint. */
const quarantined = ({ closed }: Pick<SearchService, 'closed'>) =>
  closed
    .all(tokens.category)
    .map(([id, { before }]) => ({ id, fingerprint: (before as TokenDoc | undefined)?.fingerprint }))

/**
 * Returns the token with this fingerprint, even if it is deleted; refuses with `event_unreadable` if the token is
 * unreadable.
 */
const tokenWith = async (service: SearchService, fingerprint: string): Promise<TokenDoc | undefined> => {
  const id =
    (await idBy(service.views, 'fingerprint', fingerprint)) ??
    quarantined(service).find((one) => one.fingerprint === fingerprint)?.id
  if (id === undefined) return undefined
  const doc = readable(await rowNow(service.log, tokens, id))?.doc
  return doc?.fingerprint === fingerprint ? doc : undefined
}

/** Number of tokens that have no fingerprint, or whose fingerprint was made with a lost pepper; at most `COUNTED`. */
const notSearchable = async (service: SearchService): Promise<number> => {
  const { views, fingerprints } = service
  const { prefix } = fingerprints
  const count = async (fingerprint: Match, order: string): Promise<number> =>
    (await views.list(tokens, { where: { fingerprint }, order, limit: 1, count: COUNTED })).total
  const without = await count({ equals: [undefined] }, 'createdAt')
  // `~` sorts after all characters of a fingerprint.
  const [before, after] = [
    await count({ below: prefix }, 'fingerprint'),
    await count({ from: `${prefix}~` }, 'fingerprint'),
  ]
  const unknown = quarantined(service).filter(({ fingerprint }) => !fingerprint?.startsWith(prefix)).length
  return Math.min(COUNTED, without + before + after + unknown)
}

/** Finds a token by the SHA-256 of its text (api.md §16.10). The search stops when the signal aborts. */
const findToken = async (service: SearchService, sha256: Uint8Array, stop: AbortSignal): Promise<TokenFound> => {
  const { history, names, sealer, uses, now, fingerprints } = service
  await waitForTokenView(service)
  const head = await history.head()
  const doc = head && (await tokenWith(service, fingerprints.of(sha256)))
  if (!doc) return { found: false, notSearchable: await notSearchable(service) }
  // No event concerns a token before its issue.
  const range = { after: BigInt(doc.began) - 1n }
  const { value: events } = await history.count(range, { tokenId: { any: [doc.id], none: [] } }, head, stop)
  const used = await uses.lastOf([doc.id])
  return {
    found: true,
    authentication: await presentAuthentication(doc, names, sealer, now(), used.get(doc.id)),
    events,
  }
}

/** POST /audit/v1/tokens/find: the token of a SHA-256 (api.md §16.10). */
export const auditTokensFindRoutes: SearchMount = (app, service) =>
  route(app, {
    method: 'POST',
    url: '/audit/v1/tokens/find',
    ...searching,
    summary: 'Find a token, also an expired or deleted one, by the SHA-256 of its text.',
    body: tokenSearch,
    errors: ['view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: TokenFound,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const sha256 = Buffer.from(call.body.sha256, 'hex')
        const body = await findToken(service, sha256, call.request.stop)
        countReading(service, call, 0)
        return { body }
      }),
  })
