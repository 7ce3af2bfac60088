import { join } from 'node:path'
import type { Command } from 'commander'
import type { Restored } from '../../app/backup/restore-backup.ts'
import { fail } from '../../base/failure.ts'
import { retainedText } from '../../verifier/check/evidence.ts'
import { type CommandServices, type FileOptions, reasonOf, withConfig } from '../options.ts'
import { progressBar } from '../terminal/progress.ts'
import { dataConfig } from './store-config.ts'

type RestoreOptions = {
  readonly into: string
  readonly checkpoint?: string
  readonly acceptRollback?: boolean
  readonly reason?: string
  readonly progress: boolean
}

const decisionOf = async ({ checkpoint: name, acceptRollback = false, reason }: RestoreOptions) => {
  if (name !== undefined && acceptRollback) fail('usage', 'Use either --checkpoint or --accept-rollback.')
  if (acceptRollback !== (reason !== undefined)) fail('usage', '--accept-rollback and --reason need each other.')
  if (name !== undefined) return { text: await retainedText(name, '--checkpoint'), name }
  return reason === undefined ? undefined : { reason: reasonOf(reason) }
}

const ledgerLines = ({ ledger, keys }: Restored, into: string): readonly string[] => {
  const key = join(into, 'signing-key.pem')
  const moved = `If history.ledger.key_file names another file, move ${key} and ${key}.sealed there.`
  if (ledger.state === 'none') return ['The log names no ledger: the first start begins one.']
  if (ledger.state === 'suspended')
    return [
      `The ledger ${ledger.origin} is suspended: it signs nothing until rollcall ledger resume --checkpoint FILE, or rollcall ledger restart --reason TEXT.`,
    ]
  if (ledger.state === 'restarted')
    return [
      `A new ledger begins, ${ledger.origin}. Verifiers need its key, by another way. Old checkpoints that cover more events prove the loss.`,
      moved,
    ]
  return [
    `The ledger ${ledger.origin} goes on: ${ledger.sealed} events are sealed, and the next checkpoint extends them.`,
    ...(keys ? [moved] : []),
  ]
}

/** Lines on a restore: the part that only the operator can complete is named. */
const linesOf = (restored: Restored, into: string): readonly string[] => {
  const { events, position, keys } = restored
  return [
    `${events} events up to #${position} are restored into ${into}.`,
    ...ledgerLines(restored, into),
    ...(keys
      ? []
      : [`The backup has no keys. Put subjects.sqlite, keys and signing-key.pem into ${into} before the first start.`]),
    'Events after the backup are missing. Tokens that were revoked since then work again: revoke them again, from your own records, before clients can reach the service.',
    'The keys of people who were erased since then are back: erase these people again from your list, with rollcall subjects erase --from FILE.',
  ]
}

const restore = async (
  directory: string,
  options: RestoreOptions,
  { load, clock, terminal }: CommandServices,
): Promise<void> => {
  const { into } = options
  const decision = await decisionOf(options)
  const { update: progress, end } = progressBar(terminal, clock, options)
  const places = { directory, into, progress }
  const { restoreBackup } = await load(() => import('../../app/backup/restore-backup.ts'))
  const restored = await restoreBackup(clock, places, decision, terminal.info).finally(end)
  for (const line of linesOf(restored, into)) terminal.info(line)
  if (restored.ledger.state === 'restarted') terminal.print(`${restored.ledger.vkey}\n`)
}

/** `rollcall restore`: checks a backup and restores it into an empty directory. */
export const addRestore = (program: Command, given: CommandServices): void => {
  program
    .command('restore <dir>')
    .summary('check a backup and restore it into an empty directory')
    .description(
      'Compares every file with backup.json, and the log with its checkpoint. With --checkpoint the restored log must extend it: exit code 3 if events are lost. Without --checkpoint and --accept-rollback the ledger is suspended.',
    )
    .requiredOption('--into <data>', 'directory to create, or an empty one')
    .option('--checkpoint <file>', 'the newest checkpoint that anybody retains')
    .option('--accept-rollback', 'begin a new ledger, because later events are lost')
    .option('--reason <text>', 'reason, kept in the history')
    .option('--no-progress', 'no progress bar')
    .action((directory: string, options: RestoreOptions) => restore(directory, options, given))
}

type BackupOptions = FileOptions & { readonly withKeys?: boolean; readonly progress: boolean }

const copy = async (
  directory: string,
  options: BackupOptions,
  { load, clock, terminal }: CommandServices,
): Promise<void> => {
  const { withKeys = false } = options
  const config = dataConfig(options, terminal)
  if (config.storage.type !== 'embedded')
    fail(
      'usage',
      'Servers are copied with their own tools, EventStoreDB first, then MongoDB.',
      'See docs/guides/operations.md, Backup and restore, servers.',
    )
  const { update: progress, end } = progressBar(terminal, clock, options)
  const { backUp } = await load(() => import('../../app/backup/back-up.ts'))
  const made = await backUp(config, clock, { directory, withKeys, progress }).finally(end)
  const { events, position, isSealed, canSign } = made
  terminal.info(`${events} events up to #${position} are in ${directory}, checked.`)
  if (!isSealed) terminal.info('The backup has no checkpoint, so nobody can prove with it that the log is complete.')
  if (canSign === false)
    terminal.info('The backup has no signing key that its log names, so its ledger can only begin again.')
  terminal.info(
    withKeys
      ? 'Whoever has this backup can read personal data, test guesses of tokens and sign checkpoints: keep its keys apart.'
      : 'The backup has no keys: no service starts on it without subjects.sqlite and keys. Add them with --with-keys.',
  )
}

/** `rollcall backup`: copies a data directory, also while a service uses it. */
export const addBackup = (program: Command, given: CommandServices): void => {
  withConfig(program.command('backup <dir>'), given)
    .summary('copy an embedded store, also while a service uses it')
    .description(
      'Copies the log and the ledger to an empty directory, and checks the copy. Everything acknowledged before the command began is in it. Restore it with rollcall restore; a service on a plain copy signs no checkpoint.',
    )
    .option('--data <dir>', 'directory of the embedded store')
    .option('--with-keys', 'also copy the keys of people, the key file and the signing key')
    .option('--no-progress', 'no progress bar')
    .action((directory: string, options: BackupOptions) => copy(directory, options, given))
}
