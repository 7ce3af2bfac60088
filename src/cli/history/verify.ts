import { type Command, Option } from 'commander'
import type { StoredRecords } from '../../app/stores/stored-records.ts'
import { EXIT, fail } from '../../base/failure.ts'
import { watched } from '../../base/progress.ts'
import { summaryOfEvent } from '../../history/event-json.ts'
import { treeOfPages } from '../../ledger/log-comparison.ts'
import { agreementOf, checkpointOf, cosignedSizes } from '../../verifier/check/checkpoints.ts'
import {
  type Evidence,
  keysOf,
  type Named,
  type Retained,
  readEvidence,
  trustedKeys,
} from '../../verifier/check/evidence.ts'
import { type Verdict, verifyExport } from '../../verifier/check/export-check.ts'
import { findings } from '../../verifier/check/findings.ts'
import { readManifest } from '../../verifier/check/inputs.ts'
import { leafList } from '../../verifier/check/leaf-list.ts'
import type { Reading } from '../../verifier/check/lines.ts'
import { reportVerdict } from '../../verifier/check/report.ts'
import { isSameHash } from '../../verifier/hashes.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import { tamperingOf } from '../../verifier/proof/tampering.ts'
import { type StoreOptions, storeConfig, withStore } from '../offline/store-config.ts'
import { type CommandServices, several, vkeyOption } from '../options.ts'
import { progressBar } from '../terminal/progress.ts'
import { printForeign } from '../terminal/terminal.ts'

/** Verifies the records of a store against its newest checkpoint and the retained evidence. */
const verifyStore = async (
  store: StoredRecords,
  retained: Retained,
  progress: (records: number) => void,
): Promise<Verdict> => {
  const found = findings()
  const ledger = await store.ledger()
  const named = [...retained.checkpoints, ...(ledger ? [{ name: 'newest checkpoint', text: ledger.checkpoint }] : [])]
  if (named.length === 0 && retained.hashes === undefined)
    fail(
      'usage',
      'The command needs a checkpoint or a list of hashes to compare the store with: set --checkpoint FILE or --hashes FILE.',
    )
  const offered = keysOf(ledger?.vkeys ?? [])
  const keys = trustedKeys(retained.keys ?? offered, offered, named)
  if (named.length > 0 && keys.length === 0) fail('usage', 'The checkpoint needs a key: set --vkey KEY.')
  const origin = ledger?.origin ?? parseCheckpoint(named[0]?.text ?? '')?.origin ?? ''
  const valuesOf = (one: Named, trusted: readonly VerifierKey[]) => {
    const values = checkpointOf(one, trusted, origin, found)
    return values ? [{ ...values, name: one.name }] : []
  }
  const checkpoints = [
    ...named.flatMap((one) => valuesOf(one, keys)),
    // The trusted keys need not have signed the earlier checkpoints of the store.
    ...(ledger?.others ?? []).flatMap((one) => valuesOf(one, [...keys, ...offered])),
  ]
  const leaves = leafList()
  const sizes = [0, ...checkpoints.map(({ size }) => size)]
  const { size, root, roots } = await treeOfPages(
    watched(store.pages(), (_, done) => progress(done)),
    sizes,
    (leaf) => {
      if (retained.hashes) leaves.add(leaf)
    },
  )
  const tampering = retained.hashes && tamperingOf(retained.hashes, leaves.bytes())
  if (tampering) found.add(tampering)
  for (const checkpoint of checkpoints) {
    const present = roots.get(checkpoint.size)
    const about = `${checkpoint.name} (size ${checkpoint.size})`
    if (present === undefined)
      found.add({ kind: `log shorter than the checkpoint, ${size} of ${checkpoint.size} records`, about })
    else if (!isSameHash(present, checkpoint.root)) found.add({ kind: 'another history', about })
  }
  const { good, bad } = agreementOf(checkpoints, (each) => roots.get(each))
  if (bad !== undefined && !tampering) found.add({ kind: 'changed', between: [good, bad] })
  return { found, events: size, size, root, cosigned: cosignedSizes(named, keys) }
}

type VerifyOptions = StoreOptions &
  Evidence & { readonly manifest?: string; readonly output: 'text' | 'json'; readonly progress: boolean }

/** The library of Parquet is loaded only for a file in Parquet. */
const parquetLines: Reading['parquetLines'] = async function* (path, measured) {
  yield* (await import('./parquet.ts')).parquetLines(path, measured)
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
        : await (await load(() => import('../../app/stores/stored-records.ts'))).withRecords(config, clock, (store) =>
            verifyStore(store, retained, (records) => progress(records, records)),
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
