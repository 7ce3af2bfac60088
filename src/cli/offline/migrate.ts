import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Moved } from '../../app/migrate/copy.ts'
import { EXIT, fail } from '../../base/failure.ts'
import { type Config, loadConfig } from '../../config/load.ts'
import { type CommandServices, type FileOptions, fileOf, withConfig } from '../options.ts'
import { abortOn } from '../signals.ts'
import { progressBar } from '../terminal/progress.ts'
import { confirm, type Terminal } from '../terminal/terminal.ts'

type MigrateOptions = FileOptions & {
  readonly from: string
  readonly fromKeys?: string
  readonly fromSigningKey?: string
  readonly to: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly progress: boolean
}

const directory = (path: string, keys: string = join(path, 'keys'), signingKey?: string) => ({
  'storage.type': 'embedded',
  'storage.data_dir': path,
  'keys.file': keys,
  ...(signingKey !== undefined && { 'history.ledger.key_file': signingKey }),
})

const serversOf = (options: MigrateOptions, { env }: Terminal): Config =>
  loadConfig({ ...fileOf(options), env, flags: { 'storage.type': 'cluster' } }).config

const sourceOf = (options: MigrateOptions, terminal: Terminal): Config => {
  const { from, fromKeys, fromSigningKey } = options
  if (from !== 'cluster') return loadConfig({ env: {}, flags: directory(from, fromKeys, fromSigningKey) }).config
  if (options.to === 'cluster') fail('usage', 'Servers can be moved only to a directory.')
  if (fromKeys !== undefined || fromSigningKey !== undefined)
    fail(
      'usage',
      'The configuration names the keys of servers: --from-keys and --from-signing-key are for a directory.',
    )
  return serversOf(options, terminal)
}

const targetOf = (options: MigrateOptions, terminal: Terminal): Config => {
  const { to, from } = options
  if (to === 'cluster') return serversOf(options, terminal)
  if (resolve(to) === resolve(from)) fail('usage', '--from and --to must be different directories.')
  return loadConfig({ env: {}, flags: directory(to) }).config
}

/** Lines on the ledger of the target. Two stores with one signing key would sign two histories. */
const ledgerLines = ({ ledger }: Moved): readonly string[] => {
  if (!ledger) return []
  const { origin, sealed, keyFiles } = ledger
  const { source, target } = keyFiles
  const isShared = source !== undefined && target !== undefined && resolve(target) === resolve(source)
  const place = source ?? 'the document signing-key from the collection deployment of the source'
  return [
    sealed === undefined
      ? `The source has no sealed record, so the ledger ${origin} is suspended in the target too.`
      : `The target continues the ledger ${origin}, of which ${sealed} events are sealed.`,
    isShared
      ? `Source and target share the signing key ${source}: never start the source again.`
      : `Remove ${place} before anybody starts the source again, because both would sign as one ledger.`,
  ]
}

const summary = (moved: Moved): string => {
  const { events, copied, streams, subjects, lost = 0, digest } = moved
  return [
    `Done: ${copied} events copied, ${events} events in total.`,
    `Compared: all events in order, and each of ${streams} streams, are equal in source and target; ${subjects} people and tokens have the same keys in both.`,
    ...(lost > 0
      ? [
          `The source lacks the encryption keys of ${lost} more people or tokens, so their encrypted data cannot be read in the source or in the target.`,
        ]
      : []),
    ...ledgerLines(moved),
    `SHA-256 of all events, the same in source and target: ${digest}`,
  ].join('\n')
}

const migrate = async (options: MigrateOptions, { load, clock, terminal, endWith }: CommandServices): Promise<void> => {
  const { from, to, dryRun = false, yes = false } = options
  const [source, target] = [sourceOf(options, terminal), targetOf(options, terminal)]
  if (!dryRun) await confirm(terminal, `Copy the history and the keys of ${from} to ${to}?`, yes)

  const { signal, release } = abortOn('SIGINT', 'SIGTERM')
  const { update, end } = progressBar(terminal, clock, options)
  try {
    const { moveStores } = await load(() => import('../../app/migrate/migrate.ts'))
    const moved = await moveStores(source, target, { dryRun, progress: update, signal })
    end()
    terminal.info(dryRun ? `Would copy ${moved.copied} of ${moved.events} events; nothing is written.` : summary(moved))
  } catch (error) {
    end()
    if (!signal.aborted) throw error
    terminal.info('Stopped. Copied events are kept; run the same command again to continue.')
    endWith(EXIT.interrupted)
  } finally {
    release()
  }
}

/** `rollcall migrate`: copies one store to another while no service uses either. */
export const addMigrate = (program: Command, given: CommandServices): void => {
  withConfig(program.command('migrate'), given)
    .summary('move a store between a directory and servers, or to a different directory')
    .description(
      'Copies every event, every key and the ledger unchanged, and compares source and target. No service may use the source or the target during the migration. The source is not changed.',
    )
    .requiredOption(
      '--from <dir>',
      'directory of the embedded store, or "cluster" for the servers of the configuration',
    )
    .option('--from-keys <path>', 'key file of the source (default: DIR/keys)')
    .option('--from-signing-key <path>', 'signing key of the source (default: DIR/signing-key.pem)')
    .requiredOption('--to <place>', '"cluster" for the servers of the configuration, or a directory')
    .option('--dry-run', 'compare and count without writing')
    .option('-y, --yes', 'skip the confirmation')
    .option('--no-progress', 'no progress bar')
    .action((options: MigrateOptions) => migrate(options, given))
}
