import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { object, text, truth, word } from './fields.ts'

const ledger = word('Id of the ledger.', '8 hexadecimal digits')
const origin = word('Origin of the checkpoints of the ledger.', 'first line of a C2SP tlog-checkpoint')
const vkey = (description: string) => word(description, 'C2SP verifier key')

/** The ledger: the signed Merkle tree over the log. Stream: history-ledger. */
export const ledgerEvents = {
  LedgerStarted: v1(
    object('The ledger of this log began. Its tree covers the log from the first event on.', {
      ledger,
      origin,
      vkey: vkey('The key that signs the checkpoints of the ledger.'),
      leaf: word('Format of the entries of the tree.', 'name of a format'),
    }),
  ),
  SigningKeyChanged: v1(
    object('An operator replaced the signing key of the ledger.', {
      ledger,
      from: vkey('The key before.'),
      to: vkey('The key that signs checkpoints from this event on.'),
      compromised: truth(
        'True if unauthorized people may know the previous key, so that it must sign no further checkpoint.',
      ),
    }),
  ),
  LedgerRestarted: v1(
    object(
      'An operator began a new ledger over the same log, because the previous ledger can sign no further checkpoint. Checkpoints of the previous ledger can still be checked against the events that they cover.',
      {
        ledger,
        origin,
        vkey: vkey('The key that signs the checkpoints of the new ledger.'),
        previousOrigin: word('Origin of the previous ledger.', 'first line of a C2SP tlog-checkpoint'),
        reason: text('The reason that the operator gave.'),
        lastCheckpoint: Type.Optional(
          word('The last checkpoint of the previous ledger that the operator has.', 'C2SP signed note'),
        ),
      },
    ),
  ),
}

/** The stream of the events of the ledger. */
export const LEDGER_STREAM = 'history-ledger'

export type LedgerEvent = EventOf<typeof ledgerEvents>
