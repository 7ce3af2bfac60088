import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { messageOf, Refusal } from '../base/errors.ts'
import { EXIT, isFailure } from '../base/failure.ts'
import { version } from '../base/version.ts'
import { isConfigError } from '../config/problem.ts'
import { KINDS } from './client/client.ts'
import { type Around, type CommandServices, settleValues } from './options.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Verbs on the history, in the order of the help. A verb with subcommands stands for all of them. */
const VERBS = [
  'events',
  'checkpoint',
  'prove',
  'verify-proof',
  'state',
  'diff',
  'token find',
  'subjects',
  'ledger',
  'backup',
  'restore',
  'export',
  'import',
  'log',
  'migrate',
] as const

const TEXT = `Verbs on the history:

TABLE

Sources: the service at --address; --data DIR an embedded store, also while a
service uses it; --store the servers of --config.
MOMENT: an RFC 3339 time, a day, -1h, a position such as #12, or an index such as @3.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 check failed or
difference, 4 not found, 5 not allowed, 6 conflict, 7 unavailable, 130 interrupted
`

const commandsOf = (
  root: Command,
  words: readonly string[],
): readonly (readonly [name: string, command: Command])[] => {
  const found = words.reduce<Command | undefined>((at, word) => at?.commands.find((one) => one.name() === word), root)
  if (!found) return []
  const name = words.join(' ')
  return found.commands.length === 0
    ? [[name, found]]
    : found.commands.map((command) => [`${name} ${command.name()}`, command] as const)
}

const argumentsOf = ({ registeredArguments }: Command): string =>
  registeredArguments.map((one) => (one.required ? ` <${one.name()}>` : ` [${one.name()}]`)).join('')

/** Help of all verbs on the history, made from the commands of the program. */
const historyHelp = (root: Command): string => {
  const rows = VERBS.flatMap((verb) => commandsOf(root, verb.split(' '))).map(
    ([name, command]) => [`${name}${argumentsOf(command)}`, command.summary() || command.description()] as const,
  )
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return TEXT.replace('TABLE', rows.map(([usage, summary]) => `  ${usage.padEnd(width)}  ${summary}`).join('\n'))
}

type AddVerb = (program: Command, given: CommandServices) => void

/** All commands in the order of the help. Each command is loaded on demand. */
const verbs: Readonly<Record<string, () => Promise<AddVerb>>> = {
  serve: async () => (await import('./serve.ts')).addServe,
  health: async () => (await import('./health.ts')).addHealth,
  config: async () => (await import('./config.ts')).addConfig,
  token: async () => (await import('./token/token.ts')).addToken,
  sessions: async () => (await import('./token/token.ts')).addSessions,
  'can-i': async () => (await import('./access/access.ts')).addCanI,
  whoami: async () => (await import('./access/access.ts')).addWhoAmI,
  access: async () => (await import('./access/access.ts')).addAccess,
  events: async () => (await import('./history/events.ts')).addEvents,
  state: async () => (await import('./history/state.ts')).addState,
  diff: async () => (await import('./history/state.ts')).addDiff,
  checkpoint: async () => (await import('./ledger/checkpoint.ts')).addCheckpoint,
  prove: async () => (await import('./history/prove.ts')).addProve,
  'verify-proof': async () => (await import('./history/prove.ts')).addVerifyProof,
  subjects: async () => (await import('./history/subjects.ts')).addSubjects,
  flag: async () => (await import('./flag/flag.ts')).addFlag,
  evaluate: async () => (await import('./flag/evaluate.ts')).addEvaluate,
  export: async () => (await import('./flag-documents.ts')).addExport,
  import: async () => (await import('./flag-documents.ts')).addImport,
  projections: async () => (await import('./offline/projections.ts')).addProjections,
  ledger: async () => (await import('./ledger/ledger.ts')).addLedger,
  log: async () => (await import('./offline/log.ts')).addLog,
  backup: async () => (await import('./offline/backup.ts')).addBackup,
  restore: async () => (await import('./offline/backup.ts')).addRestore,
  migrate: async () => (await import('./offline/migrate.ts')).addMigrate,
  version: async () => (await import('./version.ts')).addVersion,
}

const WIDTH = 80
const widthOf = ({ isTTY, columns = WIDTH }: Terminal['streams']['stdout']): number => (isTTY ? columns : WIDTH)

const outputOf = ({ streams, print, hasColour }: Terminal): OutputConfiguration => ({
  writeOut: print,
  writeErr: (text) => void streams.stderr.write(text),
  getOutHelpWidth: () => widthOf(streams.stdout),
  getErrHelpWidth: () => widthOf(streams.stderr),
  getOutHasColors: hasColour,
  getErrHasColors: hasColour,
})

/** Builds the command line with the command of the first word, or with all commands. */
const program = async (word: string | undefined, given: CommandServices): Promise<Command> => {
  const rollcall = new Command('rollcall')
    .description('Event-sourced client tokens and feature flags.')
    .version(version, '-V, --version')
    .exitOverride()
    .configureOutput(outputOf(given.terminal))
    .hook('preAction', (_, command) => settleValues(command))
    .showSuggestionAfterError()
    .showHelpAfterError('(see --help)')
    .addHelpText(
      'after',
      '\nStart a service with:  rollcall serve\nVerbs on the history:  rollcall help history\nExit codes: 0 done, 1 failed, 2 usage or configuration, 3 check failed, 4 not found, 5 not allowed, 6 conflict, 7 unavailable',
    )
  const loaders = word !== undefined && Object.hasOwn(verbs, word) ? [verbs[word]!] : Object.values(verbs)
  for (const add of await Promise.all(loaders.map((verb) => verb()))) add(rollcall, given)
  return rollcall
}

const reportError = (error: unknown, { info }: Terminal): number => {
  // Commander has already printed its own errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (isConfigError(error)) {
    info(`error: ${error.message}\nrollcall config check reports these problems without starting the service.`)
    return EXIT.usage
  }
  // An error of the network has a cause.
  const isOfForm = (error instanceof TypeError || error instanceof RangeError) && error.cause === undefined
  info(
    isOfForm
      ? `error: The answer or file has another form than expected (${error.message}).\nCheck its address or path, and the versions of service and program.`
      : `error: ${messageOf(error)}`,
  )
  if (isFailure(error)) return EXIT[error.kind]
  return EXIT[(error instanceof Refusal && KINDS[error.status]) || 'failed']
}

/** Runs one command line (without the program name) and returns its exit code. */
export const run = async (argv: readonly string[], around: Around): Promise<number> => {
  const { terminal } = around
  if (argv.some((word) => /^--token(=|$)/.test(word))) {
    terminal.info(
      'error: Every user of this machine can read a token that is given on the command line.\nUse ROLLCALL_TOKEN, ROLLCALL_TOKEN_FILE or --token-file PATH.',
    )
    return EXIT.usage
  }
  let exit: number = EXIT.ok
  const rollcall = await program(argv[0], { ...around, argv, endWith: (code) => (exit = code) })
  if (argv.length === 0) {
    rollcall.outputHelp()
    return EXIT.ok
  }
  if (argv.join(' ') === 'help history') {
    terminal.print(historyHelp(rollcall))
    return EXIT.ok
  }
  try {
    await rollcall.parseAsync(argv, { from: 'user' })
    return exit
  } catch (error) {
    return reportError(error, terminal)
  }
}
