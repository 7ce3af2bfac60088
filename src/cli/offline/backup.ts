import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import { type CommandServices, type FileOptions, withConfig } from '../options.ts'
import { progressBar } from '../terminal/progress.ts'
import { dataConfig } from './store-config.ts'

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
