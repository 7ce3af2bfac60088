import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../config/duration.ts'
import { fail } from '../failure.ts'
import { type Client, client, DEFAULT_ADDRESS } from './client.ts'
import { findToken } from './credential.ts'
import { momentOf } from './moment.ts'
import type { CommandServices } from './services.ts'
import type { Format } from './terminal/output.ts'
import type { Terminal } from './terminal/terminal.ts'

const duration = (text: string): number => {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('It must be a duration such as 10s.')
  return Math.min(ms, 2 ** 31 - 1)
}

export const wholeNumber = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(text)
}

/** Gathers `key=value` pairs of an option that may be repeated. */
export const pair = (text: string, pairs: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  const sign = text.indexOf('=')
  if (sign < 1) throw new InvalidArgumentError('It must be key=value.')
  return { ...pairs, [text.slice(0, sign)]: text.slice(sign + 1) }
}

export type TargetOptions = {
  readonly address: string
  readonly tokenFile?: string
  readonly timeout: number
  readonly quiet?: true
}

/** Gives an option the value of a variable; one on the command line goes before. Commander itself reads the variables of the process alone. */
const fromEnv = (command: Command, { env }: Terminal, option: string, variable: string): Command => {
  const value = env[variable]
  return value === undefined ? command : command.setOptionValueWithSource(option, value, 'env')
}

const ADDRESS = new Option('--address <url>', 'the running service').default(
  DEFAULT_ADDRESS,
  `"${DEFAULT_ADDRESS}", env: ROLLCALL_ADDRESS`,
)

/** The options of a verb that asks a running service. */
export const withTarget = (command: Command, { terminal }: CommandServices): Command =>
  fromEnv(command.addOption(ADDRESS), terminal, 'address', 'ROLLCALL_ADDRESS')
    .option('--token-file <path>', 'file that holds the client token, - is standard input (else ROLLCALL_TOKEN)')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for an answer').argParser(duration).default(10_000, '10s'),
    )
    .option('-q, --quiet', 'no messages')

/** The client that these options name. */
export const clientOf = async (
  { address, tokenFile, timeout }: TargetOptions,
  { clock, terminal }: CommandServices,
): Promise<Client> => client(address, await findToken(tokenFile, terminal), timeout, clock)

/** The options of a verb that prints data; `forms` are those it can print, the first by default. */
export const withOutput = (command: Command, forms: readonly Format[]): Command =>
  command
    .addOption(new Option('-o, --output <form>', 'form of what is printed').choices(forms).default(forms[0]))
    .option('--no-headers', 'a table without its titles')
    .option('--no-color', 'no colour (as NO_COLOR)')

/** And one field instead of the whole. */
export const withField = (command: Command): Command => command.option('--field <path>', 'one field only, raw')

export type FileOptions = { readonly config?: string; readonly data?: string }

/** The file that was named, for loadConfig; an empty name is none. */
export const fileOf = ({ config }: FileOptions): { readonly file?: string } => (config ? { file: config } : {})

/** The options of a verb that reads the configuration. */
export const withConfig = (command: Command, { terminal }: CommandServices): Command =>
  fromEnv(
    command.option('--config <path>', 'configuration file (env: ROLLCALL_CONFIG)'),
    terminal,
    'config',
    'ROLLCALL_CONFIG',
  )

/** A verb that can look at a moment of the past. */
export const withMoment = (command: Command, { clock: { now } }: CommandServices): Command =>
  command.option('--at <moment>', 'as of then: an RFC 3339 instant, a day, -1h, or a position such as #12', (text) =>
    momentOf(text, now().getTime()),
  )

/** A verb that writes, and can say why. */
export const withReason = (command: Command): Command => command.option('--reason <text>', 'why; kept in the history')

/** A reason as it may be kept. */
export const reasonOf = (reason: string, option = '--reason'): string =>
  reason.trim() === '' || /\p{Cc}|\p{Surrogate}/u.test(reason) || [...reason].length > 500
    ? fail('usage', `${option} must be 1 to 500 characters, without control characters.`)
    : reason

/** The header that carries a reason, in UTF-8; none for none. */
export const reasonHeaders = (reason: string | undefined): Readonly<Record<string, string>> =>
  reason === undefined ? {} : { 'Event-Reason': Buffer.from(reasonOf(reason), 'utf8').toString('latin1') }
