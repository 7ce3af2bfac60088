import { join } from 'node:path'
import type { Command } from 'commander'
import type { Restored } from '../../app/backup/restore-backup.ts'
import { fail } from '../../base/failure.ts'
import { retainedText } from '../../verifier/check/evidence.ts'
import { type CommandServices, reasonOf } from '../options.ts'
import { progressBar } from '../terminal/progress.ts'

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
