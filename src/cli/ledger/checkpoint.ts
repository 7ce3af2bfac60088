import { existsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { HistoryEvents } from '../../contract/history/events.ts'
import type { LedgerCheckpoints, LedgerConsistency } from '../../contract/history/ledger.ts'
import { changesTo, type KeyChange, keyChangeOf } from '../../ledger/ledger-of-log.ts'
import { PROOF_REFUSED } from '../../verifier/check/event-proof.ts'
import { insistOnCheckpoint, keysGiven, type Named, retainedText, trustedKeys } from '../../verifier/check/evidence.ts'
import { type Hash, hashOfBase64, isSameHash } from '../../verifier/hashes.ts'
import { type Checkpoint, parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { type VerifiedCheckpoint, verifyCheckpoint } from '../../verifier/note/signatures.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import { verifyProof } from '../../verifier/proof/proof-text.ts'
import { verifyConsistency } from '../../verifier/proof/proofs.ts'
import type { Client } from '../client/client.ts'
import { pages } from '../client/lists.ts'
import { EVENTS } from '../history/event.ts'
import { type CommandServices, clientOf, type TargetOptions, vkeyOption, withTarget } from '../options.ts'
import { printForeign } from '../terminal/terminal.ts'
import { writeWhole } from '../whole-file.ts'
import { keepHashes } from './kept-hashes.ts'
import { checkpointText, keysOfService, LEDGER } from './ledger-client.ts'

const PAGE = 1_000

/** Proves that an event is in the tree of a checkpoint, and returns its change of the signing key. */
const provenChange = async (
  { bytes }: Client,
  { position, index }: { readonly position: string; readonly index: number },
  newest: VerifiedCheckpoint,
  keys: readonly VerifierKey[],
): Promise<KeyChange> => {
  const text = (await bytes(`${LEDGER}/proof/${position}?size=${newest.size}`)).toString()
  const proof = verifyProof(text, keys)
  if (typeof proof === 'string') return fail('check', `The proof of event ${index} ${PROOF_REFUSED[proof]}.`)
  const { size, root } = proof.checkpoint
  const change = size === newest.size && isSameHash(root, newest.root) ? keyChangeOf(proof) : undefined
  return change?.index === index
    ? change
    : fail('check', `The service sent no proof that event ${index} changes the signing key of this ledger.`)
}

/**
 * Returns the changes that lead from earlier signing keys to the keys of a checkpoint. Each is proven to be an event
 * under that checkpoint.
 */
const changesUnder = async (
  client: Client,
  newest: VerifiedCheckpoint,
  keys: readonly VerifierKey[],
): Promise<readonly KeyChange[]> => {
  const changes: KeyChange[] = []
  const query = { type: 'SigningKeyChanged', beforeIndex: newest.size, limit: PAGE }
  for await (const { events } of pages<HistoryEvents>(client, EVENTS, query))
    for (const event of events) changes.push(await provenChange(client, event, newest, keys))
  return changesTo(keys, changes)
}

/**
 * Adds to trusted keys each key of a service that signed a kept checkpoint together with a trusted one, until one of
 * them verifies `text`. A change of a compromised key has no such checkpoint.
 */
const followedKeys = async (
  client: Client,
  text: string,
  given: readonly VerifierKey[],
): Promise<readonly VerifierKey[]> => {
  const isVerified = (keys: readonly VerifierKey[]) => verifyCheckpoint(text, keys) !== 'unknown key'
  if (isVerified(given)) return given
  const offered = await keysOfService(client)
  const changing: Named[] = []
  let keys = given
  for await (const page of pages<LedgerCheckpoints>(client, `${LEDGER}/checkpoints`, { limit: PAGE })) {
    const signers = ({ text: note }: { readonly text: string }) => {
      const parsed = parseCheckpoint(note)
      return parsed?.note.signatures.filter(({ name }) => name === parsed.origin).length ?? 0
    }
    changing.push(...page.checkpoints.filter((one) => signers(one) > 1).map((one) => ({ name: '', text: one.text })))
    keys = trustedKeys(given, offered, changing)
    if (isVerified(keys)) break
  }
  return keys
}

type CheckpointOptions = TargetOptions & {
  readonly save?: string
  readonly withHashes?: boolean
  readonly compare?: string
  readonly seal?: boolean
  readonly vkey?: readonly string[]
}

/** The newest checkpoint of a service, and the keys with which it was verified. */
type Newest = { readonly client: Client; readonly newest: VerifiedCheckpoint; readonly keys: readonly VerifierKey[] }

/** Returns true if the tree of the first checkpoint is the beginning of the tree of the second. */
const isExtended = async ({ ask }: Client, from: Checkpoint, to: Checkpoint): Promise<boolean> => {
  if (from.size === 0 || from.size === to.size) return verifyConsistency(from, to, [])
  const query = { from: from.size, to: to.size }
  const answer = await ask<LedgerConsistency>('GET', `${LEDGER}/consistency`, { query })
  const hashes = answer.hashes.map(hashOfBase64)
  return hashes.every((hash): hash is Hash => hash !== undefined) && verifyConsistency(from, to, hashes)
}

/**
 * Verifies a retained checkpoint with the keys of the newest one, and with the earlier keys whose changes are events
 * under the newest one. Fails with exit code 3 if a key signed it alone that was compromised by then.
 */
const insistOnRetained = async ({ client, newest, keys }: Newest, file: string): Promise<VerifiedCheckpoint> => {
  const text = await retainedText(file)
  if (verifyCheckpoint(text, keys) !== 'unknown key') return insistOnCheckpoint(text, keys, file)
  const changes = await changesUnder(client, newest, keys)
  const found = verifyCheckpoint(text, [...keys, ...changes.map(({ from }) => from)])
  if (found === 'unknown key')
    return fail(
      'check',
      `${file} has no signature of a known key.`,
      'No change of the signing key in the log leads from its key to the present one.',
    )
  const retained = typeof found === 'string' ? insistOnCheckpoint(text, keys, file) : found
  const isSound = ({ index, compromised }: KeyChange) => !compromised || retained.size <= index
  const signed = changes.filter(({ from }) => retained.signatures.some(({ key }) => key === from))
  if (!signed.some(isSound))
    fail(
      'check',
      `${file} is signed only with a compromised key: event ${signed[0]!.index}, which it covers, replaced that key.`,
      'Somebody else may have signed it.',
    )
  return retained
}

/** Fails with exit code 3 unless the newest checkpoint extends the one in a file. Returns the size of the latter. */
const insistOnExtension = async (of: Newest, file: string): Promise<number> => {
  const { client, newest } = of
  const retained = await insistOnRetained(of, file)
  if (retained.size > newest.size)
    fail(
      'check',
      `The log is shorter than ${file}: ${newest.size} of ${retained.size} events have a checkpoint.`,
      'If the service has just started, try again with --seal. Otherwise events were removed.',
    )
  if (!(await isExtended(client, retained, newest)))
    fail(
      'check',
      `The log does not extend ${file}: its first ${retained.size} events are not those of that checkpoint.`,
    )
  return retained.size
}

const isFolder = (path: string): boolean =>
  path.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Saves a checkpoint, and with `withHashes` the hashes of the events. A file with another history is not replaced. */
const save = async (newest: Newest, path: string, withHashes: boolean): Promise<string> => {
  const { text, size } = newest.newest
  const inFolder = isFolder(path)
  if (inFolder) await mkdir(path, { recursive: true })
  const file = inFolder ? join(path, `checkpoint-${size}`) : path
  if (existsSync(file)) await insistOnExtension(newest, file)
  if (withHashes) await keepHashes(newest.client, inFolder ? join(path, 'hashes') : `${path}.hashes`, newest.newest)
  await writeWhole(file, text)
  return file
}

/**
 * Verifies the newest checkpoint with the given keys and the keys that follow them, or with the keys of the service.
 * Fails with exit code 3 if it is none.
 */
const newestOf = async (client: Client, text: string, vkeys: CheckpointOptions['vkey']): Promise<Newest> => {
  const name = 'The checkpoint of the service'
  if (!vkeys) {
    const newest = insistOnCheckpoint(text, await keysOfService(client), name)
    return { client, newest, keys: newest.signatures.map(({ key }) => key) }
  }
  const keys = await followedKeys(client, text, await keysGiven(vkeys))
  if (verifyCheckpoint(text, keys) === 'unknown key')
    fail(
      'check',
      `${name} has no signature of a known key.`,
      'No kept checkpoint leads to its key, as after "ledger rotate-key --compromised": get the key another way.',
    )
  return { client, newest: insistOnCheckpoint(text, keys, name), keys }
}

const checkpoint = async (options: CheckpointOptions, given: CommandServices): Promise<void> => {
  const { save: path, withHashes = false, compare, seal = false, vkey, quiet = false } = options
  if (withHashes && path === undefined) fail('usage', '--with-hashes needs --save FILE or --save DIR.')
  const client = await clientOf(options, given)
  const text = await checkpointText(client, seal)
  const newest = await newestOf(client, text, vkey)
  const { info } = given.terminal
  printForeign(given.terminal, text)
  if (compare !== undefined) {
    const size = await insistOnExtension(newest, compare)
    if (!quiet) info(`The log extends ${compare}: its first ${size} events are unchanged.`)
  }
  if (path === undefined) return
  const file = await save(newest, path, withHashes)
  if (!quiet) info(`Saved as ${file}.`)
}

/** `rollcall checkpoint`: prints, saves and compares the newest checkpoint of a service. */
export const addCheckpoint = (program: Command, given: CommandServices): void => {
  withTarget(program.command('checkpoint'), given)
    .summary('print, save and compare the newest checkpoint')
    .description(
      `Prints the newest checkpoint of the history. Whoever keeps a checkpoint can prove later that the history has only
grown since then. The exit code is 3 if it has not. A change of the signing key is followed in both directions.`,
    )
    .option('--save <path>', 'save it in this file, or in this directory as checkpoint-<size>')
    .option('--with-hashes', 'also keep the hash of each event, in FILE.hashes or DIR/hashes')
    .option('--compare <file>', 'insist that the log extends this retained checkpoint')
    .option('--seal', 'make a checkpoint of all events so far')
    .addOption(vkeyOption())
    .action((options: CheckpointOptions) => checkpoint(options, given))
}
