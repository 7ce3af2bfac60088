import { timeSlicer } from '../../base/event-loop.ts'
import { isLogin } from '../../events/login.ts'
import { METHODS, type Method } from '../../events/token.ts'
import { ofStatus, placeOf, type TokenPlace, tokensInOrder } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'

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

/** Returns those sessions whose profile has the email address or login name, in the same order. */
const ofPerson = async (
  { sealer }: Pick<CommandServices, 'sealer'>,
  docs: readonly TokenDoc[],
  person: string,
  pause: () => Promise<void> | undefined,
): Promise<readonly TokenDoc[]> => {
  const found: TokenDoc[] = []
  for (let n = 0; n < docs.length; n += OPENED) {
    const group = docs.slice(n, n + OPENED)
    const opened = await Promise.all(
      group.map(async ({ profile }) => (profile === undefined ? undefined : sealer.open(profile))),
    )
    for (const [at, profile] of opened.entries()) {
      if (profile && 'text' in profile && isOf(profile.text, person)) found.push(group[at]!)
      await pause()
    }
  }
  return found
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
  const [wanted, time, pause] = [person.toLowerCase(), service.now().toISOString(), timeSlicer()]
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
      found.push(...(await ofPerson(service, docs, wanted, pause)))
      examined += docs.length
      if (docs.length < BATCH) break
      after = placeOf(docs.at(-1)!, 'createdAt')
    }
  }
  return { found, examined, next: undefined }
}
