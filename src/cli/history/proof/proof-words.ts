import type { ProofFault } from '../../../ledger/proof/proof-text.ts'

/** Causes for which a proof is refused, in words that follow its name. */
export const PROOF_REFUSED: Readonly<Record<ProofFault, string>> = {
  'malformed proof': 'is not a proof of an event, or is damaged',
  'malformed checkpoint': 'has a damaged checkpoint',
  'other origin': 'is of another ledger than the verifier key',
  'unknown key': 'has no signature of the verifier key',
  'wrong signature': 'has a checkpoint with a wrong signature',
  'wrong data': 'has data that are not those of the event in the history',
  'wrong meta': 'has metadata that are not those of the event in the history',
  'not in the tree': 'has an event that is not in the tree of its checkpoint',
}
