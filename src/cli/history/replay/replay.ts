import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Replayed, ReplayedModel } from '../../../app/offline/replay.ts'
import { EXIT, fail } from '../../../base/failure.ts'
import type { Config } from '../../../config/load.ts'
import { keysGiven } from '../../../verifier/check/evidence.ts'
import { verifyExport } from '../../../verifier/check/export-check.ts'
import { findingLine } from '../../../verifier/check/findings.ts'
import { type GivenExport, readManifest } from '../../../verifier/check/inputs.ts'
import { embeddedConfig, type StoreOptions, storeConfig, withStore } from '../../offline/store-config.ts'
import {
  type CommandServices,
  clientOf,
  several,
  type TargetOptions,
  vkeyOption,
  withOutput,
  withTarget,
} from '../../options.ts'
import { abortOn } from '../../signals.ts'
import { type Column, type OutputOptions, printMany } from '../../terminal/output.ts'
import { progressBar } from '../../terminal/progress.ts'
import { printForeign } from '../../terminal/terminal.ts'
import { comparedModels, exportedRecords, paced, type ReplaySource, recordsOfService, untilTest } from './sources.ts'

type ReplayOptions = TargetOptions &
  StoreOptions &
  OutputOptions & {
    readonly manifest?: string
    readonly vkey?: readonly string[]
    readonly verify: boolean
    readonly projection?: readonly string[]
    readonly until?: string
    readonly into?: string
    readonly compare?: string
    readonly print?: boolean
    readonly speed?: number | 'max'
    readonly progress: boolean
  }

const COLUMNS: readonly Column<ReplayedModel>[] = [
  ['NAME', ({ name }) => name],
  ['VERSION', ({ version }) => String(version)],
  ['ROWS', ({ rows }) => String(rows)],
]

const speedOf = (text: string): number | 'max' => {
  if (text === 'max') return text
  const [, factor] = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(text) ?? []
  if (!(Number(factor) > 0)) throw new InvalidArgumentError('Expected max, or a factor such as 10x.')
  return Number(factor)
}

/** Verifies an export as `events verify` does; fails with exit code 3 if it is wrong. */
const insistOnExport = async (given: GivenExport, { vkey }: ReplayOptions, { terminal }: CommandServices) => {
  const keys = vkey && (await keysGiven(vkey))
  const { found } = await verifyExport(given, { keys, checkpoints: [], hashes: undefined }, {})
  if (found.count() === 0) return
  printForeign(terminal, found.kept.map((one) => `${findingLine(one)}\n`).join(''))
  fail('check', 'The export is not verified, so nothing was replayed.', 'Replay it unverified with --no-verify.')
}

/** Runs work with the records of the export, the store or the service that the options name. */
const withSource = async <T>(
  file: string | undefined,
  options: ReplayOptions,
  given: CommandServices,
  signal: AbortSignal,
  work: (source: ReplaySource) => Promise<T>,
): Promise<T> => {
  const { manifest, verify } = options
  const config = storeConfig(options, given.terminal)
  if (file !== undefined || manifest !== undefined) {
    if (config !== undefined) fail('usage', 'Name either an export or a store.')
    const found = await readManifest(file, manifest)
    const source = exportedRecords(found)
    if (verify) await insistOnExport(found, options, given)
    return work(source)
  }
  if (config === undefined) return work(await recordsOfService(await clientOf(options, given), given.clock, signal))
  const { withRecords } = await given.load(() => import('../../../app/stores/stored-records.ts'))
  return withRecords(config, given.clock, (store) => work({ pages: store.pages(), total: undefined }))
}

const insistOnEmpty = (directory: string): void => {
  if (existsSync(directory) && readdirSync(directory).length > 0)
    fail('conflict', `${directory} is not empty.`, 'Name a directory that does not exist.')
}

/** Runs work on a new directory, which takes the name `into` when the work is done, or is removed. */
const inNewDirectory = async <T>(into: string | undefined, work: (directory: string) => Promise<T>): Promise<T> => {
  if (into !== undefined) insistOnEmpty(into)
  const place = into === undefined ? join(tmpdir(), 'rollcall-replay-') : `${resolve(into)}.partial-`
  const directory = await mkdtemp(place).catch((error: NodeJS.ErrnoException) =>
    fail('failed', `${dirname(place)} cannot be written (${error.code}).`),
  )
  try {
    const done = await work(directory)
    if (into !== undefined) {
      insistOnEmpty(into)
      await rename(directory, into)
    }
    return done
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Configuration of a new data directory. The environment does not change its files. */
const newConfig = (data: string, { terminal }: CommandServices): Config =>
  embeddedConfig({ data }, { ...terminal, env: {} })

const show = (
  { events, models, difference, later }: Replayed,
  options: ReplayOptions,
  given: CommandServices,
): void => {
  const { terminal } = given
  const { quiet = false, into, compare, print = false } = options
  if (!print) printMany(terminal, models, models, ({ name }) => name, COLUMNS, options)
  if (!quiet) terminal.info(`Replayed ${events} events.`)
  if (!quiet && into !== undefined)
    terminal.info(
      `${into} has these events without keys: start it with serve --accept-lost-keys REASON, then use rollcall ledger restart.`,
    )
  if (compare === undefined) return
  if (difference === undefined) {
    const rows = later === 1 ? '1 row that a later event has changed' : `${later} rows that later events have changed`
    if (!quiet) terminal.info(`The read models of ${compare} are equal${later === 0 ? '' : `, except for ${rows}`}.`)
    return
  }
  const { model, key, difference: what } = difference
  terminal.info(`The read models of ${compare} differ: ${`${model} ${key}`.trim()}: ${what}.`)
  given.endWith(EXIT.check)
}

const replay = async (file: string | undefined, options: ReplayOptions, given: CommandServices): Promise<void> => {
  const { terminal, clock, load, endWith } = given
  const { projection: names = [], until, into, print = false, speed, quiet = false } = options
  if (speed !== undefined && speed !== 'max' && !print) fail('usage', '--speed needs --print.')
  const isWithin = until === undefined ? () => true : untilTest(until, clock.now().getTime())
  const { signal, release } = abortOn('SIGINT', 'SIGTERM')
  const bar = progressBar(terminal, clock, { progress: options.progress && !print, quiet: quiet || print })
  try {
    const replayed = await withSource(file, options, given, signal, ({ pages, total }) =>
      inNewDirectory(into, async (directory) =>
        (await load(() => import('../../../app/offline/replay.ts'))).replayRecords(newConfig(directory, given), clock, {
          pages: paced(pages, {
            isWithin,
            speed: speed === 'max' ? undefined : speed,
            print: print ? (line) => printForeign(terminal, line) : undefined,
            clock,
            signal,
          }),
          total,
          names,
          isKept: into !== undefined,
          compare: await comparedModels(options, given, signal),
          progress: bar.update,
          signal,
        }),
      ),
    )
    bar.end()
    show(replayed, options, given)
  } catch (error) {
    if (!signal.aborted) throw error
    terminal.info('Stopped: nothing was kept.')
    endWith(EXIT.interrupted)
  } finally {
    bar.end()
    release()
  }
}

/** `rollcall events replay`: folds recorded events into read models again, without a change of live data. */
export const addReplay = (events: Command, given: CommandServices): void => {
  withOutput(withStore(withTarget(events.command('replay [file]'), given), given), ['table', 'json', 'ndjson', 'name'])
    .summary('fold recorded events into read models again; exit code 3 if they differ from those of --compare')
    .description(
      `Reads all events of an NDJSON export, of a data directory (--data), of servers (--store) or of a running service, and
makes the read models from them in a new directory. Live data do not change. An export is verified first.`,
    )
    .option('--manifest <file>', 'manifest of the export (default: FILE.manifest.json)')
    .addOption(vkeyOption())
    .option('--no-verify', 'replay an export without its verification')
    .addOption(
      new Option('--projection <name>', 'read model to make; can be repeated (default: all)').argParser(several),
    )
    .option('--until <moment>', 'last event: an index (@11), a position (#12) or a time')
    .option('--into <dir>', 'keep events and read models as a new data directory, without keys')
    .option('--compare <url|dir>', 'compare with the read models of this service, or of a stopped data directory')
    .option('--print', 'print each event as NDJSON instead of the read models')
    .addOption(new Option('--speed <speed>', 'pace of --print: max, or a factor such as 10x').argParser(speedOf))
    .option('--no-progress', 'no progress bar')
    .action((file: string | undefined, options: ReplayOptions) => replay(file, options, given))
}
