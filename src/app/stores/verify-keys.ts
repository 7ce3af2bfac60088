import type { KeyFile } from '../../adapters/embedded/files/key-file.ts'
import type { Clock } from '../../clock.ts'
import { KEYS_ID, keys as keysDecider } from '../../commands/keys.ts'
import { reader, typeName } from '../../events/define.ts'
import { keysEvents } from '../../events/keys.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { type ClockListeners, operatorCommand } from './operator-command.ts'

/** Events at the beginning of the log among which a token is looked for, and pages of them: the first token is one of the first events. */
const EVENTS = 10_000
const PAGES = 10

/** The history and the keys that were found, before anything is made. */
export type Found = {
  /** Undefined where there is no history. */
  readonly log: Pick<EventLog, 'first' | 'read' | 'readAll'> | undefined
  /** Digests of some tokens made later, to compare with where the first is of other keys. */
  readonly lately: () => Promise<readonly string[]>
  readonly keys: KeyFile | undefined
  /** False where other instances have other keys. */
  readonly shared: boolean
  /** Whether there are keys of subjects, and this key-encryption key opens them. */
  readonly subjects: (kek: Uint8Array) => 'missing' | 'closed' | 'open'
  /** What the two are called in a message. */
  readonly places: { readonly keys: string; readonly subjects: string }
}

/** What was lost: the pepper of the tokens, the keys of subjects, or both; and how that shows. */
type Loss = { readonly tokens: boolean; readonly subjects: boolean; readonly signs: readonly string[] }

/** The pepper that a digest was made with; undefined where it does not say. */
const kidOf = (digest: string | undefined): string | undefined =>
  digest?.includes('.') ? digest.slice(0, digest.lastIndexOf('.')) : undefined

/** The digests of the tokens that these events issued. An event that cannot be read says nothing of the keys. */
export const digestsOf = (page: readonly Pick<Stored, 'type' | 'data'>[]): readonly string[] =>
  page.flatMap(({ type, data }) => {
    if (typeName(type) !== 'TokenIssued') return []
    try {
      const { digest } = JSON.parse(data) as { readonly digest?: unknown }
      return typeof digest === 'string' ? [digest] : []
    } catch {
      return []
    }
  })

const firstDigest = async (log: Pick<EventLog, 'readAll'>): Promise<string | undefined> => {
  let [events, pages] = [0, 0]
  for await (const page of log.readAll(0n)) {
    const [digest] = digestsOf(page)
    if (digest !== undefined) return digest
    if ((events += page.length) >= EVENTS || ++pages >= PAGES) return undefined
  }
  return undefined
}

/** The pepper with which the log went on when keys were lost before. */
const acceptedKid = async (log: Pick<EventLog, 'read'>): Promise<string | undefined> => {
  const read = reader(keysEvents)
  let kid: string | undefined
  for await (const page of log.read(`${keysDecider.category}-${KEYS_ID}`))
    for (const { type, data } of page) kid = read(type, data).data.kid
  return kid
}

/** The pepper that the log wants where it is not this one; undefined where it is, or the log does not say. */
const otherKid = async ({ log, lately }: Found, own: string): Promise<string | undefined> => {
  const accepted = await acceptedKid(log!)
  if (accepted !== undefined) return accepted === own ? undefined : accepted
  const first = kidOf(await firstDigest(log!))
  if (first === own) return undefined
  const others = (await lately()).map(kidOf).filter((kid) => kid !== undefined)
  return others.includes(own) ? undefined : (first ?? others[0])
}

/** What was lost of the keys that this history was written with; undefined where they fit, or nothing was written yet. */
const lossOf = async (found: Found): Promise<Loss | undefined> => {
  const { log, keys, shared, places } = found
  const written = (await log?.first()) !== undefined
  const signs: string[] = []
  const state = found.subjects(keys?.kek ?? new Uint8Array(32))
  let tokens = false
  if (written && !keys) {
    tokens = true
    signs.push(`${places.keys} is not there`)
  } else if (written && keys) {
    const kid = await otherKid(found, keys.pepper.kid)
    tokens = kid !== undefined
    if (kid !== undefined)
      signs.push(`${places.keys} has the id ${keys.pepper.kid}, and the tokens of this log were made with ${kid}`)
  }
  if (!shared) signs.push(`${places.keys} is not that of the other instances`)
  if (written && state === 'missing') signs.push(`${places.subjects} is not there, or empty`)
  if (keys && state === 'closed') signs.push(`${places.keys} does not open ${places.subjects}`)
  return signs.length === 0
    ? undefined
    : { tokens, subjects: state !== 'open' && (written || state === 'closed'), signs }
}

type Fit = {
  /** Keys are lost, and that was accepted: tells the history so, under the id of the pepper from now on. */
  readonly accepted?: (log: EventLog, kid: string) => Promise<void>
}

/**
 * Sees that the keys are those that the history was written with. Fails where they are not, naming what to bring back from the backup, unless
 * an operator says that there is none (`reason`).
 */
export const verifyKeys = async (
  found: Found,
  reason: string | undefined,
  clock: Clock,
  listeners: ClockListeners,
): Promise<Fit> => {
  const loss = await lossOf(found)
  if (loss === undefined) {
    if (reason !== undefined)
      listeners.warn({}, 'the keys fit the log, so --accept-lost-keys did nothing: take it out of the command')
    return {}
  }
  const { places } = found
  const what = `The keys do not fit this log: ${loss.signs.join('; ')}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      `Bring ${places.keys} and ${places.subjects} back from the backup. Who has none starts once with: rollcall serve --accept-lost-keys REASON`,
    )
  return {
    accepted: async (log, kid) => {
      const { tokens, subjects } = loss
      await operatorCommand(log, clock, listeners, reason!, [
        keysDecider,
        KEYS_ID,
        'AcceptLostKeys',
        { kid, tokens, subjects },
      ])
      listeners.warn({ kid, tokens, subjects, reason }, `lost keys were accepted. ${what}`)
    },
  }
}
