import type { Command } from 'commander'
import { loadConfig } from '../config/load.ts'
import { configSchema, publicSettings } from '../config/describe.ts'
import { isConfigError, printProblem } from '../config/problem.ts'
import { EXIT } from './failure.ts'
import { type FileOptions, fileOf, withConfig, withOutput } from './options.ts'
import { type OutputOptions, printMany } from './terminal/output.ts'
import { print, info } from './terminal/terminal.ts'

const read = (options: FileOptions) => loadConfig({ ...fileOf(options), env: process.env })

const check = (options: FileOptions): void => {
  try {
    for (const warning of read(options).warnings) info(`warning: ${warning}`)
    info(`${options.config || 'The environment'} is a valid configuration.`)
  } catch (error) {
    if (!isConfigError(error)) throw error
    print(error.problems.map((problem) => `${printProblem(problem)}\n`).join(''))
    info(error.problems.length === 1 ? '1 problem.' : `${error.problems.length} problems.`)
    process.exitCode = EXIT.check
  }
}

type Shown = { readonly key: string; readonly value: unknown; readonly source: string }

const show = (options: FileOptions & OutputOptions): void => {
  const { config, sources, warnings } = read(options)
  for (const warning of warnings) info(`warning: ${warning}`)
  const shown = publicSettings(config).map(
    ([key, value]): Shown => ({ key, value, source: sources.get(key) ?? 'default' }),
  )
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  printMany(
    shown,
    shown,
    ({ key }) => key,
    [
      ['KEY', ({ key }) => key],
      ['SOURCE', ({ source }) => source],
      ['VALUE', ({ value }) => text(value)],
    ],
    options,
  )
}

/** `rollcall config check|show|schema`: nothing is started and no service is called. */
export const addConfig = (program: Command): void => {
  const config = program
    .command('config')
    .summary('check and show the configuration')
    .description('Checks and shows the configuration.')
  withConfig(config.command('check [file]'))
    .summary('tell every problem at once; exit 3 when there is one')
    .action((file: string | undefined, options: FileOptions) => check(file === undefined ? options : { config: file }))
  withOutput(withConfig(config.command('show')), ['table', 'json', 'ndjson', 'name'])
    .summary('print what is in effect and where it came from, without secrets')
    .action(show)
  config
    .command('schema')
    .summary('print the JSON Schema of the file')
    .action(() => print(`${JSON.stringify(configSchema(), undefined, 2)}\n`))
}
