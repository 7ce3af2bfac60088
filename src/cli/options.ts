import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Clock } from '../base/clock.ts'
import { fail } from '../base/failure.ts'
import { CLIENT_TOKEN } from '../base/token-form.ts'
import { parseDuration } from '../config/types.ts'
import { instantOf } from '../contract/readers/value.ts'
import { type Client, client, DEFAULT_ADDRESS } from './client/client.ts'
import { findToken } from './client/credential.ts'
import type { Format, OutputOptions } from './terminal/output.ts'
import type { Terminal } from './terminal/terminal.ts'

const DAY_MS = 86_400_000

/**
 * Converts `--at` to the `at` of a request: an RFC 3339 instant, a day (midnight UTC), a time span ago (`-1h`, `-2d`)
 * or a position (`12`, `#12`). `now` in ms.
 */
export const momentOf = (text: string, now: number, name = '--at'): string => {
  const instant = /^[^T]{10}$/.test(text) ? `${text}T00:00:00Z` : text
  if (instantOf(instant) !== undefined) return instant
  const [, position] = /^#?(\d+)$/.exec(text) ?? []
  if (position !== undefined) return position
  const [, days = '0', after = ''] = /^-(?:(\d{1,5})d)?(.*)$/.exec(text) ?? []
  const span = Number(days) * DAY_MS + (after === '' ? 0 : (parseDuration(after) ?? Number.NaN))
  if (span > 0) return new Date(now - span).toISOString()
  return fail('usage', `${name} must be an RFC 3339 time, a day, a time span such as -1h, or a position such as #12.`)
}

/** Environment of a run of the command line. */
export type Around = {
  /** Loads a module of `app` on demand, because most verbs do not need it. */
  readonly load: <M>(module: () => Promise<M>) => Promise<M>
  readonly clock: Clock
  readonly terminal: Terminal
}

/** Services that every command receives. */
export type CommandServices = Around & {
  /** Words of the command line, without the name of the program. */
  readonly argv: readonly string[]
  /** Sets the exit code of a run that does not fail. */
  readonly endWith: (exit: number) => void
}

const duration = (text: string): number => {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('Expected a duration such as 10s.')
  return ms
}

export const wholeNumber = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Expected an integer of at least 1.')
  return Number(text)
}

/** Collects the texts of a repeatable option. */
export const several = (text: string, before: readonly string[] = []): readonly string[] => {
  if (text === '') throw new InvalidArgumentError('Expected a text.')
  return [...before, text]
}

/** Option for the verifier keys that the user trusts. */
export const vkeyOption = (): Option =>
  new Option('--vkey <key>', 'verifier key that you trust, or a file with one a line (repeatable)').argParser(several)

/** Reads a comma-separated list of names; refuses a list without a name, such as that of an unset variable. */
export const names = (text: string): readonly string[] => {
  const found = text.split(',').map((name) => name.trim())
  if (found.includes('')) throw new InvalidArgumentError('Expected names, separated by commas.')
  return found
}

/** Options whose empty value has a meaning: the empty entity id, no description, no file. */
const MAY_BE_EMPTY: readonly string[] = ['entity', 'description', 'config']
/** Kinds of values that are used exactly as given: names of files, and texts. */
const EXACT = /file|path|dir|place|out|reason|text/
/**
 * Removes blanks at the ends of the values of options and arguments, such as those of a variable of a shell; not of
 * names of files and of texts. Refuses an empty value of an option, because most options without a value mean everything.
 */
export const settleValues = (command: Command): void => {
  for (const option of command.options) {
    const name = option.attributeName()
    const value: unknown = command.getOptionValue(name)
    if (command.getOptionValueSource(name) !== 'cli' || typeof value !== 'string' || MAY_BE_EMPTY.includes(name))
      continue
    const settled = EXACT.test(option.flags.replace(/^[^<]*/, '')) ? value : value.trim()
    if (settled === '') fail('usage', `The value of ${option.long} is empty.`)
    command.setOptionValueWithSource(name, settled, 'cli')
  }
  const { registeredArguments, processedArgs } = command
  const settled = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(settled) : typeof value === 'string' ? value.trim() : value
  for (const [n, argument] of registeredArguments.entries())
    if (!EXACT.test(argument.name())) processedArgs[n] = settled(processedArgs[n])
}

/** Collects `key=value` pairs from a repeatable option. */
export const pair = (text: string, pairs: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  const sign = text.indexOf('=')
  if (sign < 1) throw new InvalidArgumentError('Expected key=value.')
  return { ...pairs, [text.slice(0, sign)]: text.slice(sign + 1) }
}

export type TargetOptions = {
  readonly address: string
  readonly tokenFile?: string
  readonly timeout: number
  readonly quiet?: true
}

/**
 * Sets an option from an environment variable; the command line has priority. Commander itself reads only the variables
 * of the process.
 */
const fromEnv = (command: Command, { env }: Terminal, option: string, variable: string): Command => {
  const value = env[variable]
  return value === undefined ? command : command.setOptionValueWithSource(option, value, 'env')
}

const ADDRESS = new Option('--address <url>', 'address of the service').default(
  DEFAULT_ADDRESS,
  `"${DEFAULT_ADDRESS}", env: ROLLCALL_ADDRESS`,
)

/**
 * Adds the options of a command that calls a running service. `file` describes the file of `--token-file` in the help.
 */
export const withTarget = (
  command: Command,
  { terminal }: CommandServices,
  file = 'file with the client token, - for standard input (default: ROLLCALL_TOKEN)',
): Command =>
  fromEnv(command.addOption(ADDRESS), terminal, 'address', 'ROLLCALL_ADDRESS')
    .option('--token-file <path>', file)
    .addOption(new Option('--timeout <duration>', 'timeout of a request').argParser(duration).default(10_000, '10s'))
    .option('-q, --quiet', 'no messages')

/** Creates the client for these options. */
export const clientOf = async (
  { address, tokenFile, timeout }: TargetOptions,
  { clock, terminal }: CommandServices,
): Promise<Client> => client(address, await findToken(tokenFile, terminal), timeout, clock)

/** Adds the options of a command that prints data. `forms` are its formats; the first is the default. */
export const withOutput = (command: Command, forms: readonly Format[]): Command =>
  command
    .addOption(new Option('-o, --output <form>', 'output format').choices(forms).default(forms[0]))
    .option('--no-headers', 'no table header')
    .option('--no-color', 'no colour (same as NO_COLOR)')

/** Adds the option that prints a single field. */
export const withField = (command: Command): Command =>
  command.option('--field <path>', 'print only this field, without formatting')

/** Options of `withAnswer`. */
export type AnswerOptions = TargetOptions & OutputOptions

/** Adds the options of a command that prints an answer of a running service, with `at` also of a moment. */
export const withAnswer = (command: Command, given: CommandServices, forms: readonly Format[], at?: 'at'): Command => {
  const target = withTarget(command, given)
  return withField(withOutput(at ? withMoment(target, given) : target, forms))
}

export type FileOptions = { readonly config?: string; readonly data?: string }

/** Configuration file for loadConfig; an empty name counts as none. */
export const fileOf = ({ config }: FileOptions): { readonly file?: string } => (config ? { file: config } : {})

/** Adds the options of a command that reads the configuration. */
export const withConfig = (command: Command, { terminal }: CommandServices): Command =>
  fromEnv(
    command.option('--config <path>', 'configuration file (env: ROLLCALL_CONFIG)'),
    terminal,
    'config',
    'ROLLCALL_CONFIG',
  )

/** Adds the option to read the state at a moment. */
export const withMoment = (command: Command, { clock: { now } }: CommandServices): Command =>
  command.option(
    '--at <moment>',
    'show the state at this moment: an RFC 3339 time, a day, -1h, or a position such as #12',
    (text) => momentOf(text, now().getTime()),
  )

/** Adds the option for the reason of a write. */
export const withReason = (command: Command): Command =>
  command.option('--reason <text>', 'reason, kept in the history')

/** Validates a reason. */
export const reasonOf = (reason: string, option = '--reason'): string => {
  if (CLIENT_TOKEN.test(reason)) fail('usage', `${option} must not contain a client token.`)
  return reason.trim() === '' || /\p{Cc}|\p{Surrogate}/u.test(reason) || [...reason].length > 500
    ? fail('usage', `${option} must be 1 to 500 characters, without control characters.`)
    : reason
}

/** Header with the reason in UTF-8; empty without a reason. */
export const reasonHeaders = (reason: string | undefined): Readonly<Record<string, string>> =>
  reason === undefined ? {} : { 'Event-Reason': Buffer.from(reasonOf(reason), 'utf8').toString('latin1') }
