import type { Command } from 'commander'
import { EXIT } from '../failure.ts'
import { embeddedConfig } from './embedded.ts'
import { type FileOptions, withConfig, withOutput } from './options.ts'
import type { CommandServices, LogFinding } from './services.ts'
import { type Column, type OutputOptions, printMany } from './terminal/output.ts'

const COLUMNS: readonly Column<LogFinding>[] = [
  ['CHECK', ({ check }) => check],
  ['WHERE', ({ where }) => where],
  ['FOUND', ({ found }) => found],
]

/** `rollcall log check`: reads the log of a data directory, also while the service runs; exit 3 when something is not right. */
export const addLog = (program: Command, given: CommandServices): void => {
  const { load, terminal, endWith } = given
  const log = program.command('log').summary('check the log').description('Works on the log itself, and only reads it.')
  withOutput(withConfig(log.command('check'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('tell everything that is not right; exit 3 when there is something')
    .description(
      "Runs SQLite's own check of events.sqlite, and looks at triggers, positions, revisions, ids and times, and reads each event. The service may run.",
    )
    .option('--data <dir>', 'directory of the embedded store')
    .action(async (options: FileOptions & OutputOptions) => {
      const config = embeddedConfig(options, terminal)
      const { events, findings } = await (await load()).checkLog(config)
      if (findings.length > 0) {
        printMany(terminal, findings, findings, ({ where }) => where, COLUMNS, options)
        endWith(EXIT.check)
      }
      const problems = findings.length === 1 ? '1 problem' : `${findings.length} problems`
      terminal.info(`${events} events checked: ${findings.length === 0 ? 'nothing is wrong' : problems}.`)
    })
}
