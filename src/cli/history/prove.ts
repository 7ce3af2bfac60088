import { type Command, InvalidArgumentError, Option } from 'commander'
import { fail, isFailure } from '../../base/failure.ts'
import { eventFileText, PROOF_REFUSED, PROVEN_COLUMNS, provenEvent } from '../../verifier/check/event-proof.ts'
import { keysGiven, plainText, textOfFile } from '../../verifier/check/evidence.ts'
import { readNdjson } from '../../verifier/export/ndjson.ts'
import { type VerifiedProof, verifyProof, type Withheld } from '../../verifier/proof/proof-text.ts'
import type { Client } from '../client/client.ts'
import { keysOfService, LEDGER } from '../ledger/ledger-client.ts'
import {
  type CommandServices,
  clientOf,
  names,
  type TargetOptions,
  vkeyOption,
  wholeNumber,
  withField,
  withOutput,
  withTarget,
} from '../options.ts'
import { type OutputOptions, printOne } from '../terminal/output.ts'
import { printForeign } from '../terminal/terminal.ts'
import { writeWhole } from '../whole-file.ts'
import { EVENTS, eventAt } from './event.ts'

/** Maximum size of a proof in bytes: more is refused before it is read as a proof. */
const MAX_BYTES = 1_048_576

type VerifyOptions = OutputOptions & { readonly vkey?: readonly string[]; readonly event?: string }

const verify = async (file: string, options: VerifyOptions, { terminal }: CommandServices): Promise<void> => {
  const { vkey, event } = options
  if (vkey === undefined)
    return fail('usage', 'A proof needs the key of its ledger: set --vkey KEY.', 'GET /audit/v1/ledger shows the key.')
  const keys = await keysGiven(vkey)
  const text =
    file === '-' ? plainText(String(await terminal.readStdin(MAX_BYTES))) : await textOfFile(file, 'The proof')
  const proven = await provenEvent(file === '-' ? 'Standard input' : file, text, keys, event)
  printOne(terminal, proven, ({ id }) => id, PROVEN_COLUMNS, options)
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

const TEXTS: readonly Withheld[] = ['data', 'meta']

type ProveOptions = TargetOptions & {
  readonly withhold?: readonly Withheld[]
  readonly size?: number
  readonly output?: string
}

const withheldIn = (text: string, before: readonly Withheld[] = []): readonly Withheld[] => {
  const given = names(text)
  const known = TEXTS.filter((name) => given.includes(name))
  if (known.length !== new Set(given).size) throw new InvalidArgumentError('Allowed choices are data, meta.')
  return [...before, ...known]
}

/** Text of the proof of the event at a position, and the proof, verified with the keys of the service. */
const provenBy = async (client: Client, position: string, { size, withhold = [] }: ProveOptions) => {
  const query = new URLSearchParams({
    ...(withhold.length > 0 && { withhold: withhold.join(',') }),
    ...(size !== undefined && { size: String(size) }),
  })
  const bytes = await client.bytes(`${LEDGER}/proof/${position}?${query.toString()}`).catch((error: unknown) => {
    if (size === undefined || !isFailure(error) || error.kind !== 'notFound') throw error
    return fail('notFound', `The service keeps no checkpoint of size ${size} that covers the event.`)
  })
  const text = bytes.toString()
  const proof = verifyProof(text, await keysOfService(client))
  if (typeof proof === 'string') return fail('check', `The proof of the service ${PROOF_REFUSED[proof]}.`)
  return { text, proof }
}

/** Line of the event without its withheld texts, for the texts that do not fit into its proof. */
const eventText = async ({ bytes }: Client, { index }: VerifiedProof, withheld: readonly Withheld[]) => {
  const line = await bytes(`${EVENTS}?format=ndjson&afterIndex=${index - 1}&beforeIndex=${index + 1}`)
  const [read] = readNdjson(line).lines
  const record = read?.record() ?? fail('failed', 'The service sent a line that is not an event.')
  return eventFileText({ index, record }, withheld)
}

const prove = async (moment: string, options: ProveOptions, given: CommandServices): Promise<void> => {
  const { withhold = [], output, quiet = false } = options
  const { terminal, clock } = given
  const client = await clientOf(options, given)
  const { position, index } = await eventAt(client, moment, clock.now().getTime())
  const { text, proof } = await provenBy(client, position, options)
  if (proof.index !== index) fail('check', `The service sent the proof of event ${proof.index} instead of ${index}.`)
  const leftOut = TEXTS.filter((name) => proof[name] === undefined && !withhold.includes(name))
  if (output === undefined) printForeign(terminal, text)
  else {
    if (leftOut.length > 0) await writeWhole(`${output}.event.json`, await eventText(client, proof, withhold))
    await writeWhole(output, text)
  }
  if (quiet) return
  if (leftOut.length > 0)
    terminal.info(
      output === undefined
        ? `The ${leftOut.join(' and ')} of the event do not fit into a proof; with -o FILE they are in FILE.event.json.`
        : `The ${leftOut.join(' and ')} of the event do not fit into a proof; they are in ${output}.event.json.`,
    )
  terminal.info(`Event ${index} is in the tree of ${proof.checkpoint.size} events.`)
}

/** `rollcall prove`: gets the proof of one event. */
export const addProve = (program: Command, given: CommandServices): void => {
  withTarget(program.command('prove <moment>'), given)
    .summary('get the proof of one event')
    .description(
      `Gets the proof that the event at a position (#12), an index (@11) or an instant is in the history. "rollcall
verify-proof FILE" checks it without a service.`,
    )
    .addOption(new Option('--withhold <texts>', 'leave out data, meta or both (data,meta)').argParser(withheldIn))
    .addOption(new Option('--size <n>', 'prove against the kept checkpoint of this size').argParser(wholeNumber))
    .option('-o, --output <file>', 'file of the proof (default: standard output)')
    .action((moment: string, options: ProveOptions) => prove(moment, options, given))
}
