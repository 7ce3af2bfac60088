import type { Look } from '../../adapters/embedded/files/look.ts'
import type { KeyFile } from '../../adapters/embedded/files/secret-file.ts'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import { HISTORY_ID, history, KEYS_ID, keys as keysDecider } from '../../commands/deployment.ts'
import { reader, typeName } from '../../events/define.ts'
import { historyEvents, keysEvents } from '../../events/deployment.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type ClockListeners, operatorCommand } from './operator-command.ts'

/** Number of missing events at the last acceptance by an operator. */
const acceptedBefore = async (log: Pick<EventLog, 'read'>) => {
  const read = reader(historyEvents)
  let { positionsMissing, revisionsMissing } = history.initial
  for await (const page of log.read(`${history.category}-${HISTORY_ID}`))
    for (const { type, data } of page) ({ positionsMissing, revisionsMissing } = read(type, data).data)
  return { positionsMissing, revisionsMissing }
}

/**
 * Verifies that the log has its triggers and its index, and that no more events are missing than were accepted before.
 * Fails with the findings, unless the operator accepts them (`reason`). In that case it returns a function that records
 * the acceptance.
 */
export const verifyLog = async (
  log: Pick<EventLog, 'read'>,
  look: Look,
  file: string,
  reason: string | undefined,
  clock: Clock,
  listeners: ClockListeners,
): Promise<((log: EventLog) => Promise<void>) | undefined> => {
  const before = look.findings.length === 0 ? undefined : await acceptedBefore(log)
  const isKnown =
    before === undefined ||
    (look.positionsMissing === before.positionsMissing &&
      look.revisionsMissing === before.revisionsMissing &&
      look.findings.every(({ check }) => check === 'positions' || check === 'revisions'))
  if (isKnown) {
    if (reason !== undefined)
      listeners.warn(
        {},
        'the event log has no new damage, so --accept-damaged-log has no effect; remove it from the command',
      )
    return undefined
  }
  const findings = look.findings.map(({ where, found }) => `${where}: ${found}`)
  const what = `${file} is damaged: ${findings.join('; ')}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      'List the damage with: rollcall log check. Restore the file from the backup. Without a backup, start once with: rollcall serve --accept-damaged-log REASON',
    )
  return async (log) => {
    const { positionsMissing, revisionsMissing } = look
    const data = { positionsMissing, revisionsMissing, findings }
    await operatorCommand(log, clock, listeners, reason!, [history, HISTORY_ID, 'AcceptDamagedLog', data])
    listeners.warn({ reason }, `a damaged log was accepted. ${what}`)
  }
}

/**
 * Maximum events and pages at the start of the log that are searched for a token. The first token is one of the first
 * events.
 */
const EVENTS = 10_000
const PAGES = 10

/** The log and the keys found before anything is created. */
export type Found = {
  /** The value is undefined if there is no log. */
  readonly log: Pick<EventLog, 'first' | 'read' | 'readAll'> | undefined
  /** Digests of some later tokens, compared if the first token has other keys. */
  readonly lately: () => Promise<readonly string[]>
  readonly keys: KeyFile | undefined
  /** False if other instances have other keys. */
  readonly shared: boolean
  /** State of the subject keys: none, or locked or opened by this key-encryption key. */
  readonly subjects: (kek: Uint8Array) => 'missing' | 'closed' | 'open'
  /** Names of the two stores in messages. */
  readonly places: { readonly keys: string; readonly subjects: string }
}

/** Lost keys: the pepper of the tokens, the encryption keys of people, or both; and the evidence. */
type Loss = { readonly tokens: boolean; readonly subjects: boolean; readonly signs: readonly string[] }

/** Id of the pepper with which a digest was computed; undefined if the digest has none. */
const kidOf = (digest: string | undefined): string | undefined =>
  digest?.includes('.') ? digest.slice(0, digest.lastIndexOf('.')) : undefined

/** Digests of the tokens that these events issued. Events that cannot be read are skipped. */
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

/** Id of the pepper that the operator accepted after the last loss of keys. */
const acceptedKid = async (log: Pick<EventLog, 'read'>): Promise<string | undefined> => {
  const read = reader(keysEvents)
  let kid: string | undefined
  for await (const page of log.read(`${keysDecider.category}-${KEYS_ID}`))
    for (const { type, data } of page) kid = read(type, data).data.kid
  return kid
}

/** Id of the pepper that the log requires, if it is not this one; else undefined. */
const otherKid = async ({ log, lately }: Found, own: string): Promise<string | undefined> => {
  const accepted = await acceptedKid(log!)
  if (accepted !== undefined) return accepted === own ? undefined : accepted
  const first = kidOf(await firstDigest(log!))
  if (first === own) return undefined
  const others = (await lately()).map(kidOf).filter((kid) => kid !== undefined)
  return others.includes(own) ? undefined : (first ?? others[0])
}

/** Returns the lost keys; undefined if the keys match the log, or the log is empty. */
const lossOf = async (found: Found): Promise<Loss | undefined> => {
  const { log, keys, shared, places } = found
  const written = (await log?.first()) !== undefined
  const signs: string[] = []
  const state = found.subjects(keys?.kek ?? new Uint8Array(32))
  let tokens = false
  if (written && !keys) {
    tokens = true
    signs.push(`${places.keys} is missing`)
  } else if (written && keys) {
    const kid = await otherKid(found, keys.pepper.kid)
    tokens = kid !== undefined
    if (kid !== undefined)
      signs.push(`${places.keys} has the id ${keys.pepper.kid}, but the tokens of this log have the id ${kid}`)
  }
  if (!shared) signs.push(`${places.keys} differs from the keys of the other instances`)
  if (written && state === 'missing') signs.push(`${places.subjects} is missing or empty`)
  if (keys && state === 'closed') signs.push(`${places.keys} cannot decrypt ${places.subjects}`)
  return signs.length === 0
    ? undefined
    : { tokens, subjects: state !== 'open' && (written || state === 'closed'), signs }
}

/**
 * Verifies that the keys match the log. Fails with the names of the parts to restore from the backup, unless the
 * operator accepts the loss (`reason`): then `accepted` records the loss in the log, with the id of the new pepper.
 */
export const verifyKeys = async (found: Found, reason: string | undefined, clock: Clock, listeners: ClockListeners) => {
  const loss = await lossOf(found)
  if (loss === undefined) {
    if (reason !== undefined)
      listeners.warn({}, 'no key is lost, so --accept-lost-keys has no effect; remove it from the command')
    return {}
  }
  const { places } = found
  const what = `The keys do not match this event log: ${loss.signs.join('; ')}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      `Restore ${places.keys} and ${places.subjects} from the backup. Without a backup, start once with: rollcall serve --accept-lost-keys REASON`,
    )
  return {
    accepted: async (log: EventLog, kid: string): Promise<void> => {
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
