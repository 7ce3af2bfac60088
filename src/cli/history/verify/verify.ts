import { type Command, Option } from 'commander'
import { EXIT, fail } from '../../../base/failure.ts'
import { summaryOfEvent } from '../../../history/forms.ts'
import { type Evidence, readEvidence } from '../../../verifier/check/evidence.ts'
import { verifyExport } from '../../../verifier/check/export-check.ts'
import { readManifest } from '../../../verifier/check/inputs.ts'
import type { Reading } from '../../../verifier/check/lines.ts'
import { reportVerdict } from '../../../verifier/check/report.ts'
import { type StoreOptions, storeConfig, withStore } from '../../offline/store-config.ts'
import { type CommandServices, several, vkeyOption } from '../../options.ts'
import { progressBar } from '../../terminal/progress.ts'
import { printForeign } from '../../terminal/terminal.ts'
import { verifyStore } from './store-check.ts'

type VerifyOptions = StoreOptions &
  Evidence & { readonly manifest?: string; readonly output: 'text' | 'json'; readonly progress: boolean }

/** The library of Parquet is loaded only for a file in Parquet. */
const parquetLines: Reading['parquetLines'] = async function* (path, measured) {
  yield* (await import('../parquet/read.ts')).parquetLines(path, measured)
}

const verify = async (file: string | undefined, options: VerifyOptions, given: CommandServices): Promise<void> => {
  const { terminal, clock, load, endWith } = given
  const config = storeConfig(options, terminal)
  if (config !== undefined && (file ?? options.manifest) !== undefined)
    fail('usage', 'Name either an export or a store.')
  const retained = await readEvidence(options)
  const bar = progressBar(terminal, clock, { progress: options.progress, quiet: !options.progress })
  const progress = (done: number, total: number) => bar.update({ name: 'verify', done, total })
  try {
    const verdict =
      config === undefined
        ? await verifyExport(await readManifest(file, options.manifest), retained, {
            progress,
            summaryOf: summaryOfEvent,
            parquetLines,
          })
        : await (await load(() => import('../../../app/stores/stored-records.ts'))).withRecords(
            config,
            clock,
            (store) => verifyStore(store, retained, (records) => progress(records, records)),
          )
    bar.end()
    const { print, info } = terminal
    const output = { print, info, printForeign: (text: string) => printForeign(terminal, text) }
    const exit = reportVerdict(verdict, retained, config === undefined, options.output, output)
    if (exit !== EXIT.ok) endWith(exit)
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
