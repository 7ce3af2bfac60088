import type { Command } from 'commander'
import type { LogFinding } from '../../app/stores/check-log.ts'
import { EXIT } from '../../base/failure.ts'
import { type CommandServices, type FileOptions, withConfig, withOutput } from '../options.ts'
import { type Column, type OutputOptions, printMany } from '../terminal/output.ts'
import { embeddedConfig } from './store-config.ts'

const COLUMNS: readonly Column<LogFinding>[] = [
  ['CHECK', ({ check }) => check],
  ['WHERE', ({ where }) => where],
  ['FOUND', ({ found }) => found],
]

/**
 * `rollcall log check`: checks the log of a data directory, also while the service runs. The exit code is 3 if there
 * are findings.
 */
export const addLog = (program: Command, given: CommandServices): void => {
  const { load, terminal, endWith } = given
  const log = program
    .command('log')
    .summary('check the log')
    .description('Reads the event log directly and changes nothing.')
  withOutput(withConfig(log.command('check'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('report all problems of the event log; exit code 3 if one is found')
    .description(
      "Runs SQLite's integrity check of events.sqlite, checks the schemas of the files, positions, revisions, ids and times, and reads each event. The service may be running.",
    )
    .option('--data <dir>', 'directory of the embedded store')
    .action(async (options: FileOptions & OutputOptions) => {
      const config = embeddedConfig(options, terminal)
      const { checkLog } = await load(() => import('../../app/stores/check-log.ts'))
      const { events, findings } = await checkLog(config)
      if (findings.length > 0) {
        printMany(terminal, findings, findings, ({ where }) => where, COLUMNS, options)
        endWith(EXIT.check)
      }
      const problems = findings.length === 1 ? '1 problem' : `${findings.length} problems`
      terminal.info(`${events} events checked: ${findings.length === 0 ? 'no problems' : problems}.`)
    })
}
