import type { Command } from 'commander'
import { fail } from '../../../base/failure.ts'
import { PROVEN_COLUMNS, provenEvent } from '../../../verifier/check/event-proof.ts'
import { keysGiven, plainText, textOfFile } from '../../../verifier/check/evidence.ts'
import { type CommandServices, vkeyOption, withField, withOutput } from '../../options.ts'
import { type OutputOptions, printOne } from '../../terminal/output.ts'

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
