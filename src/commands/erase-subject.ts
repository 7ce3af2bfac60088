import type { Stored } from '../events/log.ts'
import type { Keys } from '../events/personal.ts'
import type { Context } from './envelope.ts'
import { erasure } from './erasure.ts'
import type { Execute } from './execute.ts'

type KeyStore = Pick<Keys, 'states' | 'destroy'>

type EraserOptions = {
  readonly execute: Execute
  readonly keys: KeyStore
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  /** Subjects of the tokens that were issued to a person, `token-<id>` each. */
  readonly tokensOf: (person: string, stop: AbortSignal) => Promise<readonly string[]>
  /** Called after each completed erasure. */
  readonly onErased: () => void
}

/** An erased subject: the destroyed keys, and the last event of its erasure that this call appended, if any. */
type Erased = { readonly keys: readonly string[]; readonly last: Stored | undefined }

/** True for the pseudonym of a person. */
export const isPerson = (subject: string): boolean => subject.startsWith('person-')

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
  const withTokens = async (subject: string, stop: AbortSignal): Promise<readonly string[]> => [
    subject,
    ...(isPerson(subject) ? await tokensOf(subject, stop) : []),
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
      const all = await withTokens(subject, stop)
      const command = { subject, keys: await existing(keys, all), reason }
      const { state, stored } = await execute(erasure, subject, 'RequestErasure', command, context)
      await applied(stored)
      const requested = state?.keys ?? []
      // The id of the command belongs to the request, and the events of a stream need different ids.
      const { commandId: _, ...after } = context
      const last = await destroyAndRecord(subject, requested, all, after)
      return { keys: requested, last: last ?? stored.at(-1) }
    },
    /** Finishes an erasure that was requested. */
    finish: async (subject: string, requested: readonly string[], stop: AbortSignal): Promise<void> => {
      await destroyAndRecord(subject, requested, await withTokens(subject, stop), { actor: { kind: 'system' } })
    },
  }
}

export type SubjectEraser = ReturnType<typeof subjectEraser>
