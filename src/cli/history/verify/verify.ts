import { type Command, Option } from 'commander'
import { EXIT, fail } from '../../../base/failure.ts'
import { base64Of } from '../../../ledger/base64.ts'
import { keysGiven, vkeyOption } from '../../ledger/checkpoint-file.ts'
import { readHashes } from '../../ledger/hash-file.ts'
import { type StoreOptions, storeConfig, withStore } from '../../offline/store-config.ts'
import { type CommandServices, several } from '../../options.ts'
import { progressBar } from '../../terminal/progress.ts'
import { printForeign } from '../../terminal/terminal.ts'
import { readCheckpoints } from './checkpoints.ts'
import { type Retained, type Verdict, verifyExport } from './export-check.ts'
import { findingLine } from './findings.ts'
import { readManifest } from './inputs.ts'
import { verifyStore } from './store-check.ts'

type VerifyOptions = StoreOptions & {
  readonly manifest?: string
  readonly vkey?: readonly string[]
  readonly checkpoint?: readonly string[]
  readonly hashes?: string
  readonly output: 'text' | 'json'
  readonly progress: boolean
}

const retainedBy = async ({ vkey, checkpoint = [], hashes }: VerifyOptions): Promise<Retained> => ({
  keys: vkey && (await keysGiven(vkey)),
  checkpoints: await readCheckpoints(checkpoint),
  hashes: hashes === undefined ? undefined : await readHashes(hashes),
})

const print = (
  { found, events, size, root, cosigned }: Verdict,
  output: VerifyOptions['output'],
  given: CommandServices,
): void => {
  const { terminal, endWith } = given
  const isVerified = found.count() === 0
  const rootText = root ? base64Of(root) : ''
  const lines = found.kept.map(findingLine)
  if (output === 'json')
    terminal.print(
      `${JSON.stringify({ verified: isVerified, events, size, root: rootText, cosigned, findings: found.kept.map((one, n) => ({ ...one, line: lines[n] })), found: found.count() })}\n`,
    )
  else {
    if (lines.length > 0) printForeign(terminal, `${lines.join('\n')}\n`)
    if (found.count() > lines.length) terminal.print(`${found.count() - lines.length} more\n`)
    for (const { name, size, time } of cosigned) printForeign(terminal, `${name} signed size ${size} at ${time}\n`)
    if (isVerified) terminal.print(`verified ${events} events, size ${size}, root ${rootText}\n`)
    else terminal.info('Not verified.')
  }
  if (!isVerified) endWith(EXIT.check)
}

const verify = async (file: string | undefined, options: VerifyOptions, given: CommandServices): Promise<void> => {
  const { terminal, clock, load } = given
  const config = storeConfig(options, terminal)
  if (config !== undefined && (file ?? options.manifest) !== undefined)
    fail('usage', 'Name either an export or a store.')
  const retained = await retainedBy(options)
  const bar = progressBar(terminal, clock, { progress: options.progress, quiet: !options.progress })
  const progress = (done: number, total: number) => bar.update({ name: 'verify', done, total })
  try {
    const verdict =
      config === undefined
        ? await verifyExport(await readManifest(file, options.manifest), retained, progress)
        : await (await load(() => import('../../../app/stores/stored-records.ts'))).withRecords(
            config,
            clock,
            (store) => verifyStore(store, retained, (records) => progress(records, records)),
          )
    bar.end()
    if (retained.keys === undefined && config === undefined && verdict.found.count() === 0)
      terminal.info(
        'The signatures were verified with the key in the manifest. Set --vkey KEY to verify them with a key that you trust.',
      )
    for (const { type, name } of retained.keys ?? [])
      if (type === 'cosignature' && !verdict.cosigned.some((one) => one.name === name))
        terminal.info(`No checkpoint has a signature of ${name}.`)
    print(verdict, options.output, given)
  } finally {
    bar.end()
  }
}

/** `rollcall events verify`: checks an export or a store, without a service. */
export const addVerifyEvents = (events: Command, given: CommandServices): void => {
  withStore(events.command('verify [file]'), given)
    .summary('verify an export or a store; exit code 3 if an event was changed, added or removed')
    .description(
      `Checks the files of an export against its manifest, the proof and the checkpoint, or the records of a store against
retained checkpoints. With the key of a witness it prints the sizes that the witness has signed, and the times. Needs no service and no network. Each difference is a line that names index and kind.`,
    )
    .option('--manifest <file>', 'manifest of the export (default: FILE.manifest.json)')
    .addOption(vkeyOption())
    .addOption(new Option('--checkpoint <file>', 'retained checkpoint; can be repeated').argParser(several))
    .option('--hashes <file>', 'retained hashes of the records, one a line from index 0')
    .addOption(new Option('-o, --output <form>', 'output format').choices(['text', 'json']).default('text'))
    .option('--no-progress', 'no progress bar')
    .action((file: string | undefined, options: VerifyOptions) => verify(file, options, given))
}
