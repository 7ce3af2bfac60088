import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { ledger as decider, LEDGER_ID } from '../../commands/deployment.ts'
import { SYSTEM } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import type { EventLog } from '../../events/log.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import type { LedgerPorts, SealedRecord } from '../../ledger/ledger-store.ts'
import { EMPTY_ROOT } from '../../verifier/hashes.ts'
import { checkpointBody } from '../../verifier/note/checkpoint.ts'
import { signerOf, signNote, verifierKey, verifyCheckpoint } from '../../verifier/note/signatures.ts'
import { vkeyOf } from '../../verifier/note/vkey.ts'
import { base64Of } from '../../verifier/platform.ts'

const ROUTE = '/audit/v1/ledger'
/** Name of the format of entries and leaves. */
const LEAF = 'rollcall.entry/v1'

/** Name that begins the origin of a new ledger. */
const nameOf = ({ history, server }: Pick<Config, 'history' | 'server'>): string =>
  history.ledger.name ??
  `${server.public_url === undefined ? 'rollcall.invalid' : new URL(server.public_url).host}${ROUTE}`

/** Sealed record of a ledger of which nothing is sealed. Its key signs the empty tree. */
export const emptyRecord = (ledger: string, origin: string, key: KeyObject, now: Date): SealedRecord => ({
  ledger,
  origin,
  size: 0,
  root: base64Of(EMPTY_ROOT),
  text: signNote(checkpointBody({ origin, size: 0, root: EMPTY_ROOT }), [signerOf(origin, key)]),
  sealedAt: now.toISOString(),
})

/** Verifier key of a private key for an origin. */
export const vkeyFor = (origin: string, key: KeyObject): string => vkeyOf(verifierKey(origin, createPublicKey(key)))

type Parts = {
  readonly ports: LedgerPorts
  readonly log: Pick<EventLog, 'read'>
  readonly execute: Execute
  readonly now: () => Date
}

/**
 * Starts the ledger of a log that names none: creates the key and the sealed record of size 0, then appends
 * LedgerStarted. A crash in between is continued by the next start, because the id of the event follows from the
 * ledger. A sealed record that is larger, or that another key has signed, belongs to another log, so nothing is started
 * then.
 */
export const startLedger = async (
  config: Pick<Config, 'history' | 'server'>,
  { ports: { store, keys }, log, execute, now }: Parts,
): Promise<void> => {
  if (await ledgerOfLog(log)) return
  const copies = async () => Object.values(await store.sealed())
  if ((await copies()).length === 0) {
    const id = randomBytes(4).toString('hex')
    await store.begin(emptyRecord(id, `${nameOf(config)}/${id}`, await keys.open(), now()))
  }
  const records = await copies()
  const [first] = records
  if (!first || records.some(({ size, ledger }) => size > 0 || ledger !== first.ledger)) return
  const { ledger, origin, text = '' } = first
  const own = signerOf(origin, await keys.open()).key
  if (typeof verifyCheckpoint(text, [own]) === 'string') return
  const data = { ledger, origin, vkey: vkeyOf(own), leaf: LEAF }
  await execute(decider, LEDGER_ID, 'StartLedger', data, { ...SYSTEM, commandId: `ledger ${ledger}` })
}
