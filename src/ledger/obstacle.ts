import { messageOf, Refusal } from '../base/errors.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import {
  type LedgerStore,
  newestRecord,
  type ScrubResult,
  type SealedCopies,
  type SealedRecord,
} from './ledger-store.ts'
import { notExtending } from './log-comparison.ts'
import type { LogTree } from './log-tree.ts'
import type { Seal } from './signed-records.ts'

/** Reason why nothing is signed. */
export type Obstacle = { readonly state: 'suspended' | 'diverged'; readonly why: string }

export const suspended = (why: string): Obstacle => ({ state: 'suspended', why })
const diverged = (why: string): Obstacle => ({ state: 'diverged', why })
export const isObstacle = (value: object): value is Obstacle => 'why' in value

/** A difference that a scrub found counts on all instances until an operator resumes or restarts the ledger. */
const scrubbedObstacle = (scrub: ScrubResult | undefined): Obstacle | undefined => {
  if (scrub?.ok !== false) return undefined
  const { firstBad } = scrub
  return diverged(firstBad ? `event ${firstBad.index} of the log is ${firstBad.kind}` : 'the log is not the sealed one')
}

/** Result of a read, or the obstacle if its content is unusable. Rejects if the store is out of reach. */
export const orObstacle = async <T>(read: () => Promise<T>): Promise<T | Obstacle> => {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal) throw error
    return suspended(messageOf(error))
  }
}

/** Newest of the copies of the sealed record, or the obstacle. */
export const newestOf = (of: LedgerOfLog | undefined, copies: SealedCopies): SealedRecord | Obstacle => {
  const records = Object.values(copies)
  if (!of) return suspended('there is a sealed record, but the log names no ledger')
  const foreign = records.find(({ ledger }) => ledger !== of.ledger)
  if (foreign)
    return suspended(`the log names ledger ${of.ledger}, but the sealed record is of ledger ${foreign.ledger}`)
  if (records.some(({ copy }) => copy)) return suspended('the sealed record is a copy from a backup')
  return newestRecord(records) ?? suspended(`there is no sealed record of ledger ${of.ledger}`)
}

type LogState = {
  readonly store: Pick<LedgerStore, 'scrubbed'>
  readonly tree: Pick<LogTree, 'size' | 'rootAt' | 'found'>
  /** Brings the tree to the head of the log. */
  readonly advance: () => Promise<void>
}

/** Finds the obstacle if the log does not extend what is sealed, or a checkpoint that a witness has. */
export const obstacleFinder = ({ store, tree, advance }: LogState) => {
  /** Cause for which the log does not extend a size and root; undefined if it does. */
  const differenceTo = async ({ size, root }: Seal): Promise<string | undefined> => {
    // Another instance may have sealed events that this one does not have yet.
    if (tree.size() < size) await advance()
    const own = tree.size() < size ? undefined : await tree.rootAt(size)
    const why = notExtending(tree.size(), own, { size, root })
    const found = why === undefined ? undefined : own && tree.found()
    return found && found.index < size ? `${why}; event ${found.index} is the first with another kept hash` : why
  }

  return async (seals: readonly Seal[], copies: SealedCopies): Promise<Obstacle | undefined> => {
    // The largest comes first. The others can only differ if they are of another tree.
    const distinct = new Map(
      seals.toSorted((a, b) => b.size - a.size).map((seal) => [`${seal.size} ${seal.root}`, seal]),
    )
    for (const seal of distinct.values()) {
      const why = await differenceTo(seal)
      if (why !== undefined) return diverged(why)
    }
    for (const { witnessed } of Object.values(copies)) {
      const why = witnessed && (await differenceTo(witnessed))
      if (why !== undefined) return diverged(`the witness ${witnessed!.witness} has another checkpoint: ${why}`)
    }
    return scrubbedObstacle(await store.scrubbed())
  }
}
