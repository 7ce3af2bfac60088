import { partsOf } from '../../base/concurrency.ts'
import { sliced } from '../../base/event-loop.ts'
import { isLogin } from '../../events/login.ts'
import type { Sealer } from '../../events/personal.ts'
import { METHODS, type Method } from '../../events/token.ts'
import { ofStatus, placeOf, type TokenPlace, tokensInOrder } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'

/** Maximum number of sessions that one search examines. */
export const EXAMINED = 10_000
/** Number of sessions in a full batch. */
export const BATCH = 128
/** Number of profiles that are opened at the same time. */
const OPENED = 16

/** Methods that are logins. */
export const LOGINS: readonly Method[] = METHODS.filter(isLogin)

type LoginServices = Pick<CommandServices, 'sealer' | 'now' | 'views'>
/** A live session with its opened profile, if it has one. */
type LiveLogin = { readonly doc: TokenDoc; readonly profile: Awaited<ReturnType<Sealer['open']>> | undefined }

const opened = ({ sealer }: LoginServices, docs: readonly TokenDoc[]): Promise<readonly LiveLogin[]> =>
  Promise.all(docs.map(async (doc) => ({ doc, profile: doc.profile ? await sealer.open(doc.profile) : undefined })))

async function* openedInParts(service: LoginServices, docs: readonly TokenDoc[]) {
  for (const part of partsOf(docs, OPENED)) yield await opened(service, part)
}

/** Yields the live sessions of a method after a place, newest first, in batches. Ends when the signal aborts. */
export async function* liveLogins(
  service: LoginServices,
  method: Method,
  after: TokenPlace | undefined,
  stop: AbortSignal,
): AsyncGenerator<readonly LiveLogin[]> {
  const where = { method: { equals: [method] }, ...ofStatus.ACTIVE(service.now().toISOString()) }
  for (let last = after; ; ) {
    stop.throwIfAborted()
    const page = { descending: true, limit: BATCH, count: 1, ...(last && { after: last }) }
    const docs = (await tokensInOrder(service.views, where, page)).rows.flatMap(({ doc }) => doc ?? [])
    const logins: LiveLogin[] = []
    for await (const part of sliced(openedInParts(service, docs))) logins.push(...part)
    yield logins
    if (docs.length < BATCH) return
    last = placeOf(docs.at(-1)!, 'createdAt')
  }
}

/**
 * Counts the people with a live session whose personal data cannot be read, among at most 10,000 sessions. `lost`: the
 * key is missing or another one without an erasure.
 */
export const unreadablePeople = async (service: LoginServices, stop: AbortSignal) => {
  const people = { lost: new Set<string>(), erased: new Set<string>() }
  let examined = 0
  const counts = () => ({ lost: people.lost.size, erased: people.erased.size, examined })
  for (const method of LOGINS)
    for await (const logins of liveLogins(service, method, undefined, stop)) {
      for (const { doc, profile } of logins) {
        const subject = doc.subject ?? doc.id
        if (profile && 'lost' in profile) people.lost.add(subject)
        if (profile && 'erased' in profile) people.erased.add(subject)
      }
      examined += logins.length
      if (examined >= EXAMINED) return counts()
    }
  return counts()
}
