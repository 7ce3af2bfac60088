import type { Stored } from '../events/log.ts'
import type { Keys } from '../events/personal.ts'
import type { Context } from './envelope.ts'
import { erasure } from './erasure.ts'
import type { Execute } from './execute.ts'

type KeyStore = Pick<Keys, 'states' | 'destroy'>

/** Subject `token-<id>` of a token, and the time of its issue. */
export type IssuedToken = { readonly subject: string; readonly time: string }

type EraserOptions = {
  readonly execute: Execute
  readonly keys: KeyStore
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  /** The tokens that were issued to a person. */
  readonly tokensOf: (person: string, stop: AbortSignal) => Promise<readonly IssuedToken[]>
  /** Called after each completed erasure. */
  readonly onErased: () => void
}

/**
 * An erased subject: the destroyed keys, the tokens that were issued to the person, and the last event of its erasure
 * that this call appended, if any.
 */
type Erased = {
  readonly keys: readonly string[]
  readonly tokens: readonly IssuedToken[]
  readonly last: Stored | undefined
}

/** True for the pseudonym of a person. */
const isPerson = (subject: string): boolean => subject.startsWith('person-')

/** Most keys that are looked up or destroyed by one call. */
const TOGETHER = 500

/** Calls `work` for parts of a list, one after the other. */
const inParts = async (all: readonly string[], work: (part: readonly string[]) => Promise<unknown>): Promise<void> => {
  for (let n = 0; n < all.length; n += TOGETHER) await work(all.slice(n, n + TOGETHER))
}

/** Returns the subjects whose key exists. */
const existing = async (keys: KeyStore, subjects: readonly string[]): Promise<readonly string[]> => {
  const found: string[] = []
  await inParts(subjects, async (part) => {
    const states = await keys.states(part)
    found.push(...part.filter((subject) => states.get(subject) === 'kept'))
  })
  return found
}

const destroyAll = (keys: KeyStore, subjects: readonly string[]): Promise<void> =>
  inParts(subjects, (part) => keys.destroy(...part))

/** Destroys those of these keys that exist, and returns their number. */
export const destroyAgain = async (keys: KeyStore, subjects: readonly string[]): Promise<number> => {
  const back = await existing(keys, subjects)
  await destroyAll(keys, back)
  return back.length
}

/**
 * Erases subjects: records the request, destroys the keys, then records the erasure. Each step can be repeated, so an
 * interrupted erasure is finished by another call.
 */
export const subjectEraser = ({ execute, keys, applied, tokensOf, onErased }: EraserOptions) => {
  const tokensIssuedTo = async (subject: string, stop: AbortSignal): Promise<readonly IssuedToken[]> =>
    isPerson(subject) ? tokensOf(subject, stop) : []
  const withTokens = (subject: string, tokens: readonly IssuedToken[]): readonly string[] => [
    subject,
    ...tokens.map((token) => token.subject),
  ]

  /**
   * Destroys the requested keys, and those of `all`. Tokens without a key get a tombstone too, because later requests
   * of a live token would create a key.
   */
  const destroyAndRecord = async (
    subject: string,
    requested: readonly string[],
    all: readonly string[],
    context: Context,
  ): Promise<Stored | undefined> => {
    await destroyAll(keys, [...new Set([...requested, ...all])])
    const { stored } = await execute(erasure, subject, 'CompleteErasure', { subject, keys: requested }, context)
    await applied(stored)
    if (stored.length > 0) onErased()
    return stored.at(-1)
  }

  return {
    /** Erases a subject. An erased subject stays as it is. */
    erase: async (subject: string, reason: string, context: Context, stop: AbortSignal): Promise<Erased> => {
      const tokens = await tokensIssuedTo(subject, stop)
      const all = withTokens(subject, tokens)
      const command = { subject, keys: await existing(keys, all), reason }
      const { state, stored } = await execute(erasure, subject, 'RequestErasure', command, context)
      await applied(stored)
      const requested = state?.keys ?? []
      // The id of the command belongs to the request, and the events of a stream need different ids.
      const { commandId: _, ...after } = context
      const last = await destroyAndRecord(subject, requested, all, after)
      return { keys: requested, tokens, last: last ?? stored.at(-1) }
    },
    /** Finishes an erasure that was requested. */
    finish: async (subject: string, requested: readonly string[], stop: AbortSignal): Promise<void> => {
      const all = withTokens(subject, await tokensIssuedTo(subject, stop))
      await destroyAndRecord(subject, requested, all, { actor: { kind: 'system' } })
    },
  }
}

export type SubjectEraser = ReturnType<typeof subjectEraser>
