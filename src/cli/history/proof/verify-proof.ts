import { hash } from 'node:crypto'
import type { Command } from 'commander'
import { fail } from '../../../base/failure.ts'
import { base64Of } from '../../../ledger/base64.ts'
import type { VerifierKey } from '../../../ledger/note/vkey.ts'
import { type VerifiedProof, verifyProof } from '../../../ledger/proof/proof-text.ts'
import { keysGiven, plainText, textOfFile, vkeyOption } from '../../ledger/checkpoint-file.ts'
import { type CommandServices, withField, withOutput } from '../../options.ts'
import { type Column, type OutputOptions, printOne } from '../../terminal/output.ts'
import { cosignedSizes } from '../verify/checkpoints.ts'
import { readEventFile } from './event-file.ts'
import { PROOF_REFUSED } from './proof-words.ts'

/** Maximum size of a proof in bytes: more is refused before it is read as a proof. */
const MAX_BYTES = 1_048_576

/** Next step if another key of the ledger signed. */
const OTHER_KEYS = 'After a change of the signing key, add each key of the ledger that you trust with a further --vkey.'

type VerifyOptions = OutputOptions & { readonly vkey?: readonly string[]; readonly event?: string }

/** Event that a proof proves. A text that is not there is withheld. */
type Proven = {
  readonly index: number
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly time: string
  readonly data?: string
  readonly meta?: string
  readonly withheld: readonly string[]
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly signedBy: readonly string[]
}

const COLUMNS: readonly Column<Proven>[] = [
  ['INDEX', ({ index }) => String(index)],
  ['TIME', ({ time }) => time],
  ['TYPE', ({ type }) => type],
  ['STREAM', ({ stream, revision }) => `${stream} ${revision}`],
  ['ID', ({ id }) => id],
  ['DATA', ({ data = '' }) => data],
  ['META', ({ meta = '' }) => meta],
  ['WITHHELD', ({ withheld }) => withheld.join(', ')],
  ['ORIGIN', ({ origin }) => origin],
  ['SIZE', ({ size }) => String(size)],
  ['ROOT', ({ root }) => root],
  ['SIGNED BY', ({ signedBy }) => signedBy.join('\n')],
]

const shown = ({ index, entry, data, meta, checkpoint }: VerifiedProof, keys: readonly VerifierKey[]): Proven => {
  const { id, stream, revision, type, time } = entry
  const { origin, size, root, signatures, text } = checkpoint
  return {
    index,
    id,
    stream,
    revision,
    type,
    time,
    ...(data !== undefined && { data }),
    ...(meta !== undefined && { meta }),
    withheld: [...(data === undefined ? ['data'] : []), ...(meta === undefined ? ['meta'] : [])],
    origin,
    size,
    root: base64Of(root),
    signedBy: [
      ...signatures.filter((one) => one.time === undefined).map(({ key }) => `${key.name} ${key.id}`),
      ...cosignedSizes([{ name: 'proof', text }], keys).map((one) => `${one.name} at ${one.time}`),
    ],
  }
}

/** Adds the texts of the event in a file to a proof without them; fails with exit code 3 unless the event is the proven one. */
const withEvent = async (proof: VerifiedProof, file: string): Promise<VerifiedProof> => {
  const event =
    readEventFile(await textOfFile(file, 'The event')) ?? fail('usage', `${file} is not the line of an event.`)
  const { entry, index } = proof
  const { id, stream, revision, type, time } = event.record
  const there = { index: event.index, id, stream, revision: Number(revision), type, time }
  const proven = { ...entry, index }
  const other = (Object.keys(there) as (keyof typeof there)[]).find((name) => there[name] !== proven[name])
  if (other !== undefined) fail('check', `${file} is another event than the proven one: its ${other} differs.`)
  for (const name of ['data', 'meta'] as const)
    if (event[name] !== undefined && hash('sha256', event[name]) !== entry[name])
      fail('check', `${file} has ${name} that are not those of the event in the history.`)
  return { ...proof, data: proof.data ?? event.data, meta: proof.meta ?? event.meta }
}

const verify = async (file: string, options: VerifyOptions, { terminal }: CommandServices): Promise<void> => {
  const { vkey, event } = options
  if (vkey === undefined)
    return fail('usage', 'A proof needs the key of its ledger: set --vkey KEY.', 'GET /audit/v1/ledger shows the key.')
  const keys = await keysGiven(vkey)
  const text =
    file === '-' ? plainText(String(await terminal.readStdin(MAX_BYTES))) : await textOfFile(file, 'The proof')
  const name = file === '-' ? 'Standard input' : file
  const verified = verifyProof(text, keys)
  if (typeof verified === 'string')
    return fail(
      verified.startsWith('malformed') ? 'usage' : 'check',
      `${name} ${PROOF_REFUSED[verified]}.`,
      verified === 'unknown key' ? OTHER_KEYS : undefined,
    )
  const proof = event === undefined ? verified : await withEvent(verified, event)
  printOne(terminal, shown(proof, keys), ({ id }) => id, COLUMNS, options)
}

/** `rollcall verify-proof`: checks the proof of one event, without a service. */
export const addVerifyProof = (program: Command, given: CommandServices): void => {
  withField(withOutput(program.command('verify-proof <file>'), ['table', 'json', 'ndjson', 'name']))
    .summary('verify the proof of one event; exit code 3 if it is wrong')
    .description(
      `Checks the proof in FILE, or of standard input (-): the texts of the event, its place in the tree, and the signature
of the checkpoint by one of the keys of --vkey. Needs no service and no network. A text that the proof leaves out is
shown as withheld.`,
    )
    .addOption(vkeyOption())
    .option('--event <file>', 'file with the texts that do not fit into the proof')
    .action((file: string, options: VerifyOptions) => verify(file, options, given))
}
