import { Type } from 'typebox'
import { Instant, named, type Shown, Text } from '../answer.ts'
import { choice, integer, optional, text } from '../readers/fields.ts'
import { query, type ReadBy } from '../readers/input.ts'
import { filterValues } from './event-filters.ts'

const SealedSize = { size: Type.Integer(), root: Text, sealedAt: Instant }

/** A checkpoint (api.md §17.3): its size and root, the time of its seal, and its text, a signed note. */
export const LedgerCheckpoint = named('LedgerCheckpoint', { ...SealedSize, text: Text })
export type LedgerCheckpoint = Shown<typeof LedgerCheckpoint>

export const LedgerCheckpoints = named('LedgerCheckpoints', {
  checkpoints: Type.Array(LedgerCheckpoint),
  nextPageToken: Text,
})
export type LedgerCheckpoints = Shown<typeof LedgerCheckpoints>

/** State of the ledger (api.md §17.5). */
export const LedgerStatus = named('LedgerStatus', {
  state: Type.Enum(['ok', 'building', 'suspended', 'diverged']),
  ledger: Type.Optional(Text),
  origin: Type.Optional(Text),
  size: Type.Integer(),
  sealed: Type.Optional(named('LedgerSealed', SealedSize)),
  keys: Type.Array(
    named('LedgerKey', { vkey: Text, since: Instant, until: Type.Optional(Instant), compromised: Type.Boolean() }),
  ),
  witnesses: Type.Array(
    named('LedgerWitness', {
      vkey: Text,
      size: Type.Integer(),
      at: Type.Optional(Instant),
      error: Type.Optional(Text),
      conflict: Type.Optional(Text),
    }),
  ),
  scrub: named('LedgerScrub', {
    at: Type.Optional(Instant),
    through: Type.Optional(Type.Integer()),
    ok: Type.Optional(Type.Boolean()),
    firstBad: Type.Optional(named('LedgerDifference', { index: Type.Integer(), kind: Text })),
  }),
})
export type LedgerStatus = Shown<typeof LedgerStatus>

/** Inclusion proof of an event (api.md §17.4): the hashes from the sibling of its leaf upwards. */
export const LedgerProof = named('LedgerProof', {
  index: Type.Integer(),
  size: Type.Integer(),
  root: Text,
  hashes: Type.Array(Text),
  entry: Text,
  checkpoint: Text,
})
export type LedgerProof = Shown<typeof LedgerProof>

const TreeOfSize = named('LedgerTree', { size: Type.Integer(), root: Text })

/** Consistency proof between two sizes of the tree (api.md §17.4). */
export const LedgerConsistency = named('LedgerConsistency', {
  from: TreeOfSize,
  to: TreeOfSize,
  hashes: Type.Array(Text),
})
export type LedgerConsistency = Shown<typeof LedgerConsistency>

const size = integer({ min: 1, minMessage: 'must be at least 1' })

export const checkpointsQuery = query({
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
  pageToken: text(),
})
export type CheckpointsQuery = ReadBy<typeof checkpointsQuery>

export const proofQuery = query({
  size,
  withhold: filterValues((name) => name === 'data' || name === 'meta'),
  format: optional(choice({ text: 0, json: 1 })),
})
export type ProofQuery = ReadBy<typeof proofQuery>

export const consistencyQuery = query({ from: size, to: size })
