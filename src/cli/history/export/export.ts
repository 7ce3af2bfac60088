import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { EXIT, fail } from '../../../base/failure.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../../../verifier/export/manifest.ts'
import { type StoreOptions, storeConfig, withStore } from '../../offline/store-config.ts'
import { type CommandServices, clientOf, type TargetOptions, wholeNumber, withTarget } from '../../options.ts'
import { abortOn } from '../../signals.ts'
import { progressBar } from '../../terminal/progress.ts'
import { type FilterOptions, filtersOf, withFilters, withPeriod } from '../filters.ts'
import { PARTIAL, streamWriter } from './part-writer.ts'
import { isSplit, partPath } from './parts.ts'
import { type ExportRequest, runExport } from './run.ts'
import type { ExportSource } from './sources.ts'
import { serviceSource, storeSource } from './sources.ts'

type ExportOptions = TargetOptions &
  StoreOptions &
  FilterOptions & {
    readonly from?: string
    readonly to?: string
    readonly after?: string
    readonly before?: string
    readonly afterIndex?: string
    readonly beforeIndex?: string
    readonly format: ExportFormat
    readonly gzip?: boolean
    readonly splitEvents?: number
    readonly splitBytes?: number
    readonly checkpoint?: string
    readonly against?: string
    readonly manifest?: string
    readonly personal?: boolean
    readonly resume?: boolean
    readonly progress: boolean
  }

const filterOf = (options: ExportOptions): Readonly<Record<string, string>> => {
  const { from, to } = options
  const given = Object.entries({ ...filtersOf(options), from, to })
  return Object.fromEntries(given.flatMap(([name, text]) => (text ? [[name, text]] : [])))
}

const requestOf = (out: string, options: ExportOptions, { terminal }: CommandServices): ExportRequest => {
  const { format, gzip = false, resume = false, splitEvents, splitBytes, personal = false } = options
  const { after, before, afterIndex, beforeIndex } = options
  const split = { events: splitEvents, bytes: splitBytes }
  const toStream = out === '-'
  if (gzip && format === 'parquet') fail('usage', 'Parquet files are compressed already: leave out --gzip.')
  if (toStream && isSplit(split)) fail('usage', 'Standard output cannot be split into files.')
  if (toStream && resume) fail('usage', 'An export to standard output cannot be resumed.')
  if (personal && format !== 'ndjson' && format !== 'ocsf')
    fail('usage', `${format} has no form with opened personal data; ndjson and ocsf have one.`)
  if (personal && (options.data !== undefined || options.store))
    fail(
      'usage',
      'Only a service opens personal data, because it records the read.',
      'Leave out --data and --store, and set --address to a running service.',
    )
  const manifest = options.manifest ?? (toStream ? undefined : `${out}.manifest.json`)
  if (manifest === undefined && (options.checkpoint ?? options.against) !== undefined)
    fail('usage', '--checkpoint and --against need a manifest: set --manifest FILE.')
  const bounds = Object.entries({ after, before, afterIndex, beforeIndex }).filter(([, text]) => text !== undefined)
  return {
    selection: {
      filter: filterOf(options),
      bounds: Object.fromEntries(bounds),
      personal: personal ? 'open' : 'sealed',
    },
    format,
    gzip,
    split,
    out: toStream ? undefined : out,
    stream: toStream ? streamWriter(terminal.streams.stdout, gzip) : undefined,
    manifest,
    proof: toStream ? `${manifest}.proof` : `${out}.proof`,
    resume,
    checkpoint: options.checkpoint,
    against: options.against,
  }
}

/** Fails if the export would replace a file. A resumed one replaces nothing but its unfinished files. */
const insistOnNewFiles = ({ out, split, manifest, resume }: ExportRequest): void => {
  const data = out === undefined ? undefined : partPath(out, split, 1)
  const found = [manifest, ...(resume || data === undefined ? [] : [data, `${data}${PARTIAL}`])]
  for (const path of found)
    if (path !== undefined && existsSync(path))
      fail(
        'conflict',
        `${path} exists.`,
        resume
          ? 'The export is complete.'
          : 'Choose a different name, or continue an interrupted export with --resume.',
      )
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/** The command that continues an interrupted export over the same range. */
const continued = (words: readonly string[], to: number, { selection: { bounds } }: ExportRequest): string => {
  const more = [
    ...(words.includes('--resume') ? [] : ['--resume']),
    ...('before' in bounds || 'beforeIndex' in bounds ? [] : ['--before-index', String(to)]),
  ]
  return ['rollcall', ...words, ...more].map(quoted).join(' ')
}

const plural = (count: number, word: string): string => (count === 1 ? `1 ${word}` : `${count} ${word}s`)

const exportEvents = async (out: string, options: ExportOptions, given: CommandServices): Promise<void> => {
  const { terminal, clock, load, endWith } = given
  const request = requestOf(out, options, given)
  insistOnNewFiles(request)
  const { quiet = false, progress } = options
  const { signal, release } = abortOn('SIGINT', 'SIGTERM')
  const bar = progressBar(terminal, clock, { progress, quiet })
  const runWith = (source: ExportSource) =>
    runExport(source, request, (done, total) => bar.update({ name: 'export', done, total }), signal)
  try {
    const config = storeConfig(options, terminal)
    const { isStopped, range, events, files, newer } =
      config === undefined
        ? await runWith(serviceSource(await clientOf(options, given), clock))
        : await (await load(() => import('../../../app/stores/stored-records.ts'))).withRecords(
            config,
            clock,
            (store) => runWith(storeSource(store)),
          )
    bar.end()
    if (isStopped) {
      terminal.info(
        request.out === undefined
          ? `Stopped after ${plural(events, 'event')}.`
          : `Stopped after ${plural(events, 'event')}. To continue:\n${continued(given.argv, range.to, request)}`,
      )
      return endWith(EXIT.interrupted)
    }
    if (newer > 0 && !quiet) terminal.info(`Left out: ${plural(newer, 'event')} after the checkpoint.`)
    if (!quiet && request.out !== undefined)
      terminal.info(
        `Exported ${plural(events, 'event')} of the indexes ${range.from} to ${range.to - 1} to ${plural(files, 'file')}.`,
      )
  } finally {
    bar.end()
    release()
  }
}

const byteCount = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Expected a number of bytes.')
  return Number(text)
}

/** `rollcall events export`: writes events into files with a proof. */
export const addExportEvents = (events: Command, given: CommandServices): void => {
  const exporting = withStore(withTarget(events.command('export <out>'), given), given)
    .summary('export events into files with a proof')
    .description(
      `Writes the events that match all filters into the file OUT, or to standard output (-). OUT.manifest.json states
source, filter and range, and proves the events against a checkpoint of the ledger; "rollcall events verify OUT" checks it.`,
    )
    .addOption(new Option('--format <format>', 'format of the files').choices(EXPORT_FORMATS).default('ndjson'))
    .option('--gzip', 'compress the files')
    .addOption(new Option('--split-events <n>', 'files OUT-00001, … of at most n events').argParser(wholeNumber))
    .addOption(new Option('--split-bytes <n>', 'files of at most n bytes before compression').argParser(byteCount))
    .option('--after-index <index>', 'events after this index')
    .option('--before-index <index>', 'events before this index')
    .option('--after <position>', 'events after this position')
    .option('--before <position>', 'events before this position')
    .option(
      '--checkpoint <file>',
      'prove the exported events against this retained checkpoint instead of the newest checkpoint',
    )
    .option('--against <file>', 'also prove that the log extends this retained checkpoint')
    .option('--personal', 'open personal data (ndjson and ocsf only); the service records the read')
    .option('--manifest <file>', 'file of the manifest (default: OUT.manifest.json)')
    .option('--resume', 'continue an interrupted export')
    .option('--no-progress', 'no progress bar')
  withPeriod(withFilters(exporting), given).action((out: string, options: ExportOptions) =>
    exportEvents(out, options, given),
  )
}
