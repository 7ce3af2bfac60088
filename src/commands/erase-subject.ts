import { partsOf } from '../base/concurrency.ts'
import { reader } from '../events/define.ts'
import { destroyed, type ErasureEvent, type ErasureProgress, erasureEvents, requested } from '../events/deployment.ts'
import type { Stored } from '../events/log.ts'
import type { Keys } from '../events/personal.ts'
import type { Decider } from './decider.ts'
import type { Context } from './envelope.ts'
import type { Execute } from './execute.ts'

type ErasedKeys = { readonly subject: string; readonly keys: readonly string[] }
type ErasureCommands = {
  RequestErasure: ErasedKeys & { readonly reason: string }
  CompleteErasure: ErasedKeys
}

/** Maximum number of keys in one event, so that no event becomes too large for a store. */
const KEYS_PER_EVENT = 1_000

/** The keys in groups for one event each; one empty group if there are no keys. */
const groups = (keys: readonly string[]): readonly (readonly string[])[] =>
  keys.length === 0 ? [[]] : [...partsOf(keys, KEYS_PER_EVENT)]

/**
 * Decider of the erasure of one subject. A repeated request only adds keys that were not requested before. A completion
 * states only keys that were requested.
 */
const erasure: Decider<ErasureProgress | undefined, ErasureCommands, ErasureEvent> = {
  category: 'keys',
  shapes: erasureEvents,
  read: reader(erasureEvents),
  initial: undefined,
  exists: (progress) => progress !== undefined,
  decide: {
    RequestErasure: (progress, { subject, keys, reason }) => {
      const known = new Set(progress?.keys)
      const fresh = keys.filter((key) => !known.has(key))
      if (progress && fresh.length === 0) return []
      return groups(fresh).map((keys) => ({
        type: 'SubjectErasureRequested',
        data: { subject, keys: [...keys], reason },
      }))
    },
    CompleteErasure: (progress, { subject, keys }) => {
      if (progress?.left === undefined) return []
      const gone = new Set(keys)
      const done = progress.left.filter((key) => gone.has(key))
      if (done.length === 0 && progress.left.length > 0) return []
      return groups(done).map((keys) => ({ type: 'SubjectErased', data: { subject, keys: [...keys] } }))
    },
  },
  evolve: {
    SubjectErasureRequested: (progress, { keys }) => requested(progress, keys),
    SubjectErased: (progress, { keys }) => destroyed(progress, keys),
  },
}

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

/** Most keys that are looked up or destroyed by one call. */
const TOGETHER = 500

/** Returns the subjects whose key exists. */
const existing = async (keys: KeyStore, subjects: readonly string[]): Promise<readonly string[]> => {
  const found: string[] = []
  for (const part of partsOf(subjects, TOGETHER)) {
    const states = await keys.states(part)
    found.push(...part.filter((subject) => states.get(subject) === 'kept'))
  }
  return found
}

const destroyAll = async (keys: KeyStore, subjects: readonly string[]): Promise<void> => {
  for (const part of partsOf(subjects, TOGETHER)) await keys.destroy(...part)
}

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
    subject.startsWith('person-') ? tokensOf(subject, stop) : []
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
