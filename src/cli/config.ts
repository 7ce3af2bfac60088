import type { Command } from 'commander'
import { EXIT } from '../base/failure.ts'
import { configSchema, publicSettings } from '../config/describe.ts'
import { type Config, loadConfig } from '../config/load.ts'
import { isConfigError, type Problem, printProblem } from '../config/problem.ts'
import { checkAs } from './access/access-as.ts'
import { type CommandServices, type FileOptions, fileOf, withConfig, withOutput } from './options.ts'
import { type OutputOptions, printMany } from './terminal/output.ts'

const read = (options: FileOptions, { terminal: { env, info } }: CommandServices) => {
  const { warnings, ...loaded } = loadConfig({ ...fileOf(options), env })
  for (const warning of warnings) info(`warning: ${warning}`)
  return loaded
}

type Checked = { readonly problems: readonly Problem[] } | { readonly config: Config }

const checked = async (options: FileOptions, given: CommandServices): Promise<Checked> => {
  try {
    const { config, sources } = read(options, given)
    if (config.storage.type !== 'cluster') return { config }
    const { wrongAddresses } = await given.load(() => import('../app/stores/store-addresses.ts'))
    const wrong = await wrongAddresses(config)
    const problems = wrong.map((problem) => ({ ...problem, place: sources.get(problem.key) ?? '' }))
    return problems.length === 0 ? { config } : { problems }
  } catch (error) {
    if (!isConfigError(error)) throw error
    return { problems: error.problems }
  }
}

type CheckOptions = FileOptions & { readonly as?: string }

const check = async (options: CheckOptions, given: CommandServices): Promise<void> => {
  const { print, info } = given.terminal
  const found = await checked(options, given)
  if ('config' in found) {
    if (options.as !== undefined) return await checkAs(found.config, options.as, given)
    info(`${options.config || 'The environment'} is a valid configuration.`)
    return
  }
  const { problems } = found
  print(problems.map((problem) => `${printProblem(problem)}\n`).join(''))
  info(problems.length === 1 ? '1 problem.' : `${problems.length} problems.`)
  given.endWith(EXIT.check)
}

type Shown = { readonly key: string; readonly value: unknown; readonly source: string }

const show = (options: FileOptions & OutputOptions, given: CommandServices): void => {
  const { config, sources } = read(options, given)
  const shown = publicSettings(config).map(
    ([key, value]): Shown => ({ key, value, source: sources.get(key) ?? 'default' }),
  )
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  printMany(
    given.terminal,
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

/** `rollcall config check|show|schema`: starts nothing and contacts no server. */
export const addConfig = (program: Command, given: CommandServices): void => {
  const config = program
    .command('config')
    .summary('check and show the configuration')
    .description('Checks and shows the configuration.')
  withConfig(config.command('check [file]'), given)
    .summary('report all problems of the configuration at once; exit code 3 if one is found')
    .option(
      '--as <file>',
      'also show the grants that authorization.rules give to the login described in this JSON file (method, and claims, memberships or account; - reads standard input); the exit code is 3 if the login would be refused',
    )
    .action((file: string | undefined, options: CheckOptions) =>
      check(file === undefined ? options : { ...options, config: file }, given),
    )
  withOutput(withConfig(config.command('show'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('print the effective settings and their sources, without secrets')
    .action((options: FileOptions & OutputOptions) => show(options, given))
  config
    .command('schema')
    .summary('print the JSON Schema of the file')
    .action(() => given.terminal.print(`${JSON.stringify(configSchema(), undefined, 2)}\n`))
}
