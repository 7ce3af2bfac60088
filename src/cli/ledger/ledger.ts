import type { Command } from 'commander'
import type { LedgerReport } from '../../app/ledger/state-of-stores.ts'
import { EXIT } from '../../base/failure.ts'
import { retainedText } from '../../verifier/check/evidence.ts'
import { dataConfig } from '../offline/store-config.ts'
import { type CommandServices, type FileOptions, reasonOf, withConfig, withOutput } from '../options.ts'
import { type Column, type OutputOptions, printOne } from '../terminal/output.ts'
import { confirm } from '../terminal/terminal.ts'

const COLUMNS: readonly Column<LedgerReport>[] = [
  ['STATE', ({ state }) => state],
  ['EVENTS', ({ size }) => String(size)],
  ['SEALED', ({ sealed }) => String(sealed?.size ?? 0)],
  ['ORIGIN', ({ origin = '' }) => origin],
  ['WHY', ({ why = '' }) => why],
]

type ConfirmOptions = FileOptions & { readonly yes?: boolean }

const operations = ({ load }: CommandServices) => load(() => import('../../app/ledger/operations.ts'))

const withData = (command: Command, given: CommandServices): Command =>
  withConfig(command, given).option('--data <dir>', 'directory of the embedded store')
const withYes = (command: Command, given: CommandServices): Command =>
  withData(command, given).option('-y, --yes', 'skip the confirmation')

const addStatus = (ledger: Command, given: CommandServices): void => {
  const { terminal, clock, endWith } = given
  withOutput(withData(ledger.command('status'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('show the state of the ledger')
    .description(
      'Reads the whole log and compares it with the sealed record. The exit code is 3 if the ledger is suspended or diverged.',
    )
    .action(async (options: FileOptions & OutputOptions) => {
      const report = await (await operations(given)).ledgerStatus(dataConfig(options, terminal), clock, terminal.info)
      printOne(terminal, report, ({ state }) => state, COLUMNS, options)
      if (report.state === 'suspended' || report.state === 'diverged') endWith(EXIT.check)
    })
}

const addResume = (ledger: Command, given: CommandServices): void => {
  const { terminal, clock } = given
  withYes(ledger.command('resume'), given)
    .summary('continue the ledger from a retained checkpoint')
    .description('The log must extend the checkpoint. The exit code is 3 if it does not.')
    .requiredOption('--checkpoint <file>', 'the newest checkpoint that anybody retains')
    .action(async (options: ConfirmOptions & { readonly checkpoint: string }) => {
      const { checkpoint: name, yes = false } = options
      const text = await retainedText(name, '--checkpoint')
      const config = dataConfig(options, terminal)
      await confirm(terminal, `Continue the ledger from ${name}?`, yes)
      const { size, events } = await (await operations(given)).resumeLedger(
        config,
        clock,
        { text, name },
        terminal.info,
      )
      terminal.info(`The sealed record covers ${size} of ${events} events. The next checkpoint extends it.`)
    })
}

const addRestart = (ledger: Command, given: CommandServices): void => {
  const { terminal, clock } = given
  withYes(ledger.command('restart'), given)
    .summary('begin a new ledger over the same log')
    .description('The new ledger has another origin and another key. Verifiers need its key.')
    .requiredOption('--reason <text>', 'reason, kept in the history')
    .option('--last <file>', 'the last checkpoint of the ledger before (default: the newest kept one)')
    .action(async (options: ConfirmOptions & { readonly reason: string; readonly last?: string }) => {
      const { last: file, yes = false } = options
      const reason = reasonOf(options.reason)
      const last = file === undefined ? undefined : await retainedText(file, '--last')
      const config = dataConfig(options, terminal)
      await confirm(terminal, 'Begin a new ledger? The old one can sign nothing afterwards.', yes)
      const restarted = await (await operations(given)).restartLedger(config, clock, { reason, last }, terminal.info)
      terminal.info(restarted.isContinued ? 'An interrupted restart is completed.' : 'A new ledger begins.')
      terminal.print(`${restarted.vkey}\n`)
    })
}

const addRotateKey = (ledger: Command, given: CommandServices): void => {
  const { terminal, clock } = given
  withYes(ledger.command('rotate-key'), given)
    .summary('replace the signing key of the ledger')
    .description('The first checkpoint of the new key carries both signatures. Then the old private key is destroyed.')
    .option('--compromised', 'others may have the old key: it signs nothing more, and verifiers need the new key')
    .action(async (options: ConfirmOptions & { readonly compromised?: boolean }) => {
      const { compromised = false, yes = false } = options
      const config = dataConfig(options, terminal)
      await confirm(terminal, 'Replace the signing key? The old private key is destroyed.', yes)
      const { rotateLedgerKey } = await operations(given)
      const { vkey, isContinued } = await rotateLedgerKey(config, clock, compromised, terminal.info)
      terminal.info(isContinued ? 'An interrupted change is completed.' : 'The signing key is replaced.')
      terminal.print(`${vkey}\n`)
    })
}

const addRebuild = (ledger: Command, given: CommandServices): void => {
  const { terminal, clock, endWith } = given
  withYes(ledger.command('rebuild'), given)
    .summary('make the kept hashes of the tree from the log')
    .description('Compares them with the log first. The exit code is 3 if there is a difference.')
    .action(async (options: ConfirmOptions) => {
      const config = dataConfig(options, terminal)
      await confirm(terminal, 'Replace the kept hashes by those of the log?', options.yes ?? false)
      const { events, difference, sealed } = await (await operations(given)).rebuildLedger(config, clock, terminal.info)
      if (difference) terminal.print(`index ${difference.index}: ${difference.kind}\n`)
      if (sealed !== undefined) terminal.info(`Difference: ${sealed}.`)
      terminal.info(`The kept hashes are those of ${events} events.`)
      if (difference || sealed !== undefined) endWith(EXIT.check)
    })
}

/** `rollcall ledger status|resume|restart|rotate-key|rebuild`: works on the stores. An embedded service must be stopped. */
export const addLedger = (program: Command, given: CommandServices): void => {
  const ledger = program
    .command('ledger')
    .summary('show and repair the ledger')
    .description('Works on the stores: on a data directory while the service is stopped, on servers at any time.')
  for (const add of [addStatus, addResume, addRestart, addRotateKey, addRebuild]) add(ledger, given)
}
