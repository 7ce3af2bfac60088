import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { isConfigError } from '../config/problem.ts'
import { Refusal } from '../errors.ts'
import { EXIT, isFailure } from '../failure.ts'
import { version } from '../version.ts'
import type { Around, CommandServices } from './services.ts'
import type { Terminal } from './terminal/terminal.ts'

type AddVerb = (program: Command, given: CommandServices) => void

/** Every verb there is, in the order of the help. Each is loaded when it is asked for. */
const verbs: Readonly<Record<string, () => Promise<AddVerb>>> = {
  serve: async () => (await import('./serve.ts')).addServe,
  config: async () => (await import('./config.ts')).addConfig,
  token: async () => (await import('./token.ts')).addToken,
  'can-i': async () => (await import('./can-i.ts')).addCanI,
  whoami: async () => (await import('./whoami.ts')).addWhoAmI,
  access: async () => (await import('./access.ts')).addAccess,
  flag: async () => (await import('./flag.ts')).addFlag,
  evaluate: async () => (await import('./evaluate.ts')).addEvaluate,
  export: async () => (await import('./export.ts')).addExport,
  import: async () => (await import('./import.ts')).addImport,
  projections: async () => (await import('./projections.ts')).addProjections,
  log: async () => (await import('./log.ts')).addLog,
  migrate: async () => (await import('./migrate.ts')).addMigrate,
  version: async () => (await import('./version.ts')).addVersion,
}

const WIDTH = 80
const widthOf = ({ isTTY, columns = WIDTH }: Terminal['streams']['stdout']): number => (isTTY ? columns : WIDTH)

/** Lets Commander write where the verbs write, as wide as the terminal is. */
const outputOf = ({ streams, print, hasColour }: Terminal): OutputConfiguration => ({
  writeOut: print,
  writeErr: (text) => void streams.stderr.write(text),
  getOutHelpWidth: () => widthOf(streams.stdout),
  getErrHelpWidth: () => widthOf(streams.stderr),
  getOutHasColors: hasColour,
  getErrHasColors: hasColour,
})

/** The command line with the verb that its first word names, or else with all of them. */
const program = async (word: string | undefined, given: CommandServices): Promise<Command> => {
  const rollcall = new Command('rollcall')
    .description('Event-sourced client tokens and feature flags.')
    .version(version, '-V, --version')
    .exitOverride()
    .configureOutput(outputOf(given.terminal))
    .showSuggestionAfterError()
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText(
      'after',
      '\nStart a service with:  rollcall serve\nExit codes: 0 done, 1 failed, 2 usage or configuration, 3 check failed, 4 not found, 5 not allowed, 6 conflict, 7 unavailable',
    )
  const asked = word !== undefined && Object.hasOwn(verbs, word) ? [verbs[word]!] : Object.values(verbs)
  for (const add of await Promise.all(asked.map((verb) => verb()))) add(rollcall, given)
  return rollcall
}

/** Unavailable services and conflicts have codes of their own; any other refusal is a failure. */
const exitOfRefusal = ({ status }: Refusal): number => {
  const exits: Readonly<Record<number, number>> = {
    404: EXIT.notFound,
    409: EXIT.conflict,
    412: EXIT.conflict,
    503: EXIT.unavailable,
  }
  return exits[status] ?? EXIT.failed
}

/** Tells an error to the user and gives the exit code that goes with it. */
const reportError = (error: unknown, { info }: Terminal): number => {
  // Commander has printed its own errors already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (isConfigError(error)) {
    info(`error: ${error.message}\nrollcall config check tells the same without starting.`)
    return EXIT.usage
  }
  if (isFailure(error)) info(`error: ${error.message}`)
  else info(`error: ${error instanceof Error ? error.message : String(error)}`)
  if (isFailure(error)) return error.exit
  return error instanceof Refusal ? exitOfRefusal(error) : EXIT.failed
}

/** Runs one command line (without the program's name) and gives its exit code. */
export const run = async (argv: readonly string[], around: Around): Promise<number> => {
  const { terminal } = around
  if (argv.some((word) => /^--token(=|$)/.test(word))) {
    terminal.info(
      'error: A token on the command line can be read by every user of the machine.\nUse ROLLCALL_TOKEN, ROLLCALL_TOKEN_FILE or --token-file PATH.',
    )
    return EXIT.usage
  }
  let exit: number = EXIT.ok
  const rollcall = await program(argv[0], { ...around, endWith: (code) => (exit = code) })
  if (argv.length === 0) {
    rollcall.outputHelp()
    return EXIT.ok
  }
  try {
    await rollcall.parseAsync(argv, { from: 'user' })
    return exit
  } catch (error) {
    return reportError(error, terminal)
  }
}
