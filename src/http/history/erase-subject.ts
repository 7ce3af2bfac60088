import { refuse } from '../../base/errors.ts'
import type { IssuedToken } from '../../commands/erase-subject.ts'
import type { SubjectErased } from '../../contract/history/searches.ts'
import { contextOf } from '../commands/command-context.ts'
import type { Call } from '../route/route.ts'
import type { ErasureService } from '../services/history.ts'

/** Form of a subject. */
const SUBJECT = /^(?:person|token|network)-[\w.-]{1,100}$/
/** Time in ms after midnight during which a login may have begun on the day before. */
const BEGAN_BEFORE_MS = 600_000

/** True if the subject has a key or a tombstone, or is in an event. */
const isKnown = async ({ history, keyStates, erasures }: ErasureService, subject: string, stop: AbortSignal) => {
  if (!SUBJECT.test(subject)) return false
  if (erasures.of(subject) || (await keyStates([subject])).has(subject)) return true
  const head = await history.head()
  return (
    head !== undefined && (await history.count({}, { subject: { any: [subject], none: [] } }, head, stop)).value > 0
  )
}

/**
 * Subjects `network-<day>` with a key that may encrypt addresses of the logins of a person: those of the events before
 * the person was known.
 */
const networksOf = async ({ keyStates }: ErasureService, tokens: readonly IssuedToken[]) => {
  const days = new Set<string>()
  for (const { time } of tokens)
    for (const before of [BEGAN_BEFORE_MS, 0])
      days.add(`network-${new Date(Date.parse(time) - before).toISOString().slice(0, 10)}`)
  const states = await keyStates([...days])
  return [...days].filter((day) => states.get(day) === 'kept')
}

/** Erases a subject for a request (api.md §16.18). A disconnected client does not stop an erasure. */
export const eraseSubject = async (
  service: ErasureService,
  call: Call<{ readonly subject: string; readonly reason: string }, unknown>,
): Promise<SubjectErased> => {
  const { subject, reason } = call.body
  const stop = new AbortController().signal
  if (!(await isKnown(service, subject, stop))) refuse('not_found', `subject "${subject}" not found`)
  // The command names its target by the subject, so If-Match is ignored.
  const { ifMatch: _ifMatch, ...context } = contextOf(call, service)
  const { keys, tokens } = await service.eraser.erase(subject, reason, context, stop)
  const networks = await networksOf(service, tokens)
  const { position } = service.erasures.row(subject) ?? refuse('backend_unavailable')
  return { subject, keys: [...keys], networks, position: String(position) }
}
