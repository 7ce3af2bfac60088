import type { Clock } from '../../base/clock.ts'
import { keyedQueue } from '../../base/concurrency.ts'
import { messageOf } from '../../base/errors.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { parseVkey, type VerifierKey } from '../../verifier/note/vkey.ts'
import { base64Of } from '../../verifier/platform.ts'
import type { LedgerOfLog } from '../ledger-of-log.ts'
import type { KeptCheckpoint, LedgerStore, WitnessedCheckpoint } from '../ledger-store.ts'
import type { LogTree } from '../log-tree.ts'
import { safeVkeys } from '../signed-records.ts'
import {
  bodyOf,
  cosignatureOf,
  hasSignature,
  type Outcome,
  type SendToWitness,
  submissions,
  type Witness,
  withLine,
} from './submission.ts'

/** Number of newest checkpoints in which the last cosignature of a witness is searched. */
const SEARCHED = 100

/** The newest checkpoint that a witness has signed, as far as it is known. */
type Signed = { readonly origin: string; readonly size: number; readonly time: number }

/** State of a witness (api.md §17.5). `size` is 0 before its first cosignature, and `at` is absent. */
export type WitnessState = {
  readonly vkey: string
  readonly size: number
  readonly at?: string
  readonly error?: string
  readonly conflict?: string
}

/** Settings of the witnesses of a ledger. */
export type WitnessSettings = {
  readonly list: readonly Witness[]
  readonly send: SendToWitness
  readonly onOutcome: (witness: Witness, outcome: Outcome) => void
}

type WitnessesOptions = WitnessSettings & {
  readonly clock: Pick<Clock, 'now'>
  readonly store: Pick<LedgerStore, 'checkpoint' | 'checkpoints' | 'keep' | 'sealed' | 'advance'>
  readonly tree: Pick<LogTree, 'nodes' | 'rootAt'>
  readonly follower: {
    readonly reaches: (size: number) => Promise<boolean>
    /** Receives a kept checkpoint with a further signature. */
    readonly cosigned: (checkpoint: KeptCheckpoint) => void
    /** Compares the log with the sealed record, after a checkpoint that the log does not extend was recorded. */
    readonly recheck: () => Promise<void>
  }
  /** The ledger that the log names, as far as it is known. */
  readonly known: () => LedgerOfLog | undefined
}

type Submitting = {
  readonly witness: Witness
  /** The newest checkpoint that is not submitted yet. */
  next: KeptCheckpoint | undefined
  isBusy: boolean
  signed: Signed | undefined
  /** The last outcome other than a cosignature, and the size of its checkpoint. */
  fault: { readonly size: number; readonly error?: string; readonly conflict?: string } | undefined
}

/** Records in the sealed record that a witness has a checkpoint that the log does not extend. */
const record = async (
  store: Pick<LedgerStore, 'sealed' | 'advance'>,
  witnessed: WitnessedCheckpoint,
): Promise<void> => {
  const { stored } = await store.sealed()
  if (stored && !stored.witnessed) await store.advance(stored, { ...stored, witnessed })
}

/** Keys of a ledger whose signatures prove something. */
const keysOf = (ledger: LedgerOfLog | undefined): readonly VerifierKey[] =>
  ledger ? safeVkeys(ledger).flatMap((vkey) => parseVkey(vkey) ?? []) : []

/** The newest checkpoint with a cosignature of a witness. */
const lastSigned = (kept: readonly KeptCheckpoint[], { key }: Witness): Signed | undefined => {
  const found = kept.find(({ text }) => hasSignature(text, key))
  const cosignature = found && cosignatureOf(found.text, key)
  const origin = found && parseCheckpoint(found.text)?.origin
  return cosignature && origin !== undefined ? { origin, size: found.size, time: cosignature.time } : undefined
}

/** State of a witness, from its submissions and the kept checkpoints. */
const stateOf = (
  { witness, signed, fault }: Submitting,
  origin: string | undefined,
  kept: readonly KeptCheckpoint[],
): WitnessState => {
  // Another instance may have submitted a later checkpoint.
  const [last] = [signed, lastSigned(kept, witness)]
    .filter((one) => one?.origin === origin && one !== undefined)
    .toSorted((one, other) => other!.size - one!.size)
  const { vkey } = witness
  const known = last ? { size: last.size, at: new Date(last.time).toISOString() } : { size: 0 }
  if (!fault || fault.size <= known.size) return { vkey, ...known }
  const { size: _, ...why } = fault
  return { vkey, ...known, ...why }
}

/** Returns a function that adds a signature line to a kept checkpoint, and serves it. */
const lineAdder = (store: Pick<LedgerStore, 'checkpoint' | 'keep'>, serve: (checkpoint: KeptCheckpoint) => void) => {
  const oneByOne = keyedQueue()
  return ({ size, text }: KeptCheckpoint, line: string): Promise<void> =>
    oneByOne('lines', async () => {
      const kept = await store.checkpoint(size)
      if (!kept || bodyOf(kept.text) !== bodyOf(text)) return
      const cosigned = withLine(kept, line)
      await store.keep(cosigned)
      serve(cosigned)
    })
}

/**
 * Submits checkpoints to the witnesses of a ledger, at most one at a time to each. A checkpoint that is sealed during a
 * submission replaces the waiting one. A failed submission is repeated with the next checkpoint.
 */
export const witnesses = (options: WitnessesOptions) => {
  const { list, store, tree, follower, known, onOutcome } = options
  const stop = new AbortController()
  const submit = submissions({
    ...options,
    nodes: tree.nodes,
    ledgerKeys: () => keysOf(known()),
    isInTree: async (size, root) => (await follower.reaches(size)) && base64Of(await tree.rootAt(size)) === root,
  })
  const addLine = lineAdder(store, follower.cosigned)
  const all = list.map(
    (witness): Submitting => ({
      witness,
      next: undefined,
      isBusy: false,
      signed: undefined,
      fault: undefined,
    }),
  )
  const newest = () => store.checkpoints(Number.MAX_SAFE_INTEGER, SEARCHED)

  const take = async (own: Submitting, checkpoint: KeptCheckpoint, origin: string, outcome: Outcome): Promise<void> => {
    const { size } = checkpoint
    if (outcome.result === 'ok') {
      // Serve the line first: the state names only cosignatures that are served.
      await addLine(checkpoint, outcome.cosignature.line)
      own.signed = { origin, size, time: outcome.cosignature.time }
      own.fault = undefined
    } else own.fault = { size, [outcome.result === 'error' ? 'error' : 'conflict']: outcome.why }
    if (outcome.result !== 'diverged') return
    await record(store, outcome.witnessed)
    await follower.recheck()
  }

  const submitted = async (own: Submitting, checkpoint: KeptCheckpoint): Promise<Outcome> => {
    const origin = checkpoint.text.slice(0, checkpoint.text.indexOf('\n'))
    own.signed ??= lastSigned(await newest(), own.witness)
    const from = own.signed?.origin === origin ? own.signed.size : 0
    const outcome = await submit(own.witness, checkpoint, from, stop.signal)
    if (!stop.signal.aborted) await take(own, checkpoint, origin, outcome)
    return outcome
  }

  const run = async (own: Submitting): Promise<void> => {
    own.isBusy = true
    for (let checkpoint = own.next; checkpoint && !stop.signal.aborted; checkpoint = own.next) {
      own.next = undefined
      const { size } = checkpoint
      const outcome = await submitted(own, checkpoint).catch((error: unknown): Outcome => {
        const why = `the store of the ledger fails: ${messageOf(error)}`
        own.fault = { size, error: why }
        return { result: 'error', why }
      })
      if (!stop.signal.aborted) onOutcome(own.witness, outcome)
    }
    own.isBusy = false
  }

  return {
    /** Submits a checkpoint to each witness. Returns at once. */
    submit: (checkpoint: KeptCheckpoint): void => {
      for (const own of all) {
        own.next = checkpoint
        if (!own.isBusy) void run(own)
      }
    },
    /** State of each witness of the ledger `origin`. On servers, faults are those of the submissions of this instance. */
    states: async (origin: string | undefined): Promise<readonly WitnessState[]> => {
      const kept = all.length === 0 ? [] : await newest()
      return all.map((own) => stateOf(own, origin, kept))
    },
    /** Cancels the submissions. */
    end: (): void => stop.abort(),
  }
}
