import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { escapeControl } from '../../base/control-characters.ts'
import { EXIT, type Failure, fail, isFailure } from '../../base/failure.ts'
import type { Shown } from '../../contract/answer.ts'
import type { SessionsFound, TokenFound } from '../../contract/history/searches.ts'
import type { Authentication, AuthenticationList } from '../../contract/token.ts'
import { type Client, type ListBudget, segment } from '../client/client.ts'
import { findToken } from '../client/credential.ts'
import { pagesOf, upTo } from '../client/lists.ts'
import {
  type AnswerOptions,
  type CommandServices,
  clientOf,
  reasonHeaders,
  type TargetOptions,
  wholeNumber,
  withAnswer,
  withField,
  withOutput,
  withReason,
  withTarget,
} from '../options.ts'
import { type Column, printMany, printOne } from '../terminal/output.ts'
import { confirm, type Terminal } from '../terminal/terminal.ts'
import { addTokenCreate } from './create.ts'
import { nameOf, TOKEN_COLUMNS } from './holder.ts'

const MOST_BYTES = 4_096

/** Searches all live sessions, page after page. The person is sent in the body, so no address or log contains it. */
const find = async (given: string, options: AnswerOptions, services: CommandServices): Promise<void> => {
  const { terminal } = services
  const read = given === '-' ? (await terminal.readStdin(MOST_BYTES)).toString('utf8') : given
  const person = read.trim() || fail('usage', 'Give the e-mail address or login name, or - for standard input.')
  const { ask } = await clientOf(options, services)
  const found: Authentication[] = []
  let examined = 0
  const ofPage = (pageToken: string, list: ListBudget) => {
    const body = { person, ...(pageToken !== '' && { pageToken }) }
    return ask<Shown<typeof SessionsFound>>('POST', '/auth/v1/sessions/find', { body, list })
  }
  for await (const page of pagesOf(ofPage)) {
    found.push(...page.authentications)
    examined += page.examined
  }
  if (found.length === 0) fail('notFound', `No session of this person is among the ${examined} live sessions.`)
  printMany(terminal, found, { authentications: found, examined }, ({ id }) => id, TOKEN_COLUMNS, options)
}

/** `rollcall sessions find`: finds the live sessions of a person. */
export const addSessions = (program: Command, given: CommandServices): void => {
  const sessions = program.command('sessions').summary('find the live sessions of a person')
  withAnswer(sessions.command('find <person>'), given, ['table', 'csv', 'json', 'ndjson', 'name'])
    .summary('find the live sessions of a person by e-mail address or login name')
    .description(
      'Finds the live sessions of a person at all login providers, by the whole e-mail address or login name (- reads it from standard input). The search is recorded in the history, without the person.',
    )
    .action((person: string, options: AnswerOptions) => find(person, options, given))
}

type FoundToken = Required<Pick<TokenFound, 'authentication' | 'events'>>

/** Sends the SHA-256 of the text, never the text. */
const findByText = async ({ tokenFile, ...options }: AnswerOptions, given: CommandServices): Promise<void> => {
  const text =
    tokenFile === undefined
      ? fail('usage', 'Give the token to find: --token-file PATH, or - for standard input.')
      : await findToken(tokenFile, given.terminal)
  const { ask } = await clientOf(options, given)
  const sha256 = createHash('sha256').update(text!).digest('hex')
  const answer = await ask<TokenFound>('POST', '/audit/v1/tokens/find', { body: { sha256 } })
  const { authentication, events = 0, notSearchable = 0 } = answer
  if (!authentication)
    return fail(
      'notFound',
      'The service has never issued the token.',
      notSearchable === 0 ? undefined : `The service cannot search ${notSearchable} of its tokens by their text.`,
    )
  const all: readonly Column<FoundToken>[] = [
    ...TOKEN_COLUMNS.map(([title, shown]): Column<FoundToken> => [title, (found) => shown(found.authentication)]),
    ['ENDED', (found) => found.authentication.deletedAt ?? ''],
    ['EVENTS', (found) => String(found.events)],
  ]
  printOne(given.terminal, { authentication, events }, () => authentication.id, all, options)
}

/** `rollcall token find`: finds a token by its text. */
const addTokenFind = (token: Command, given: CommandServices): void => {
  const file = 'file with the token to find, - for standard input (the command authenticates with ROLLCALL_TOKEN)'
  withField(withOutput(withTarget(token.command('find'), given, file), ['table', 'json', 'name']))
    .summary('find the record of a token by the secret text of the token')
    .description(
      'Finds the record of a token by its secret text, even if the token has ended. The command sends the SHA-256 of the text, never the text.',
    )
    .action((options: AnswerOptions) => findByText(options, given))
}

type ListOptions = AnswerOptions & {
  readonly [filter in 'status' | 'method' | 'namespace' | 'name' | 'issuedBy' | 'access']?: string
} & {
  readonly limit: number
  readonly all?: boolean
}

const PAGE = 100

const list = async ({ all = false, limit: most, ...options }: ListOptions, given: CommandServices): Promise<void> => {
  const client = await clientOf(options, given)
  const { status, method, namespace: namespaceKey, name: q, issuedBy, access } = options
  const query = { status, method, namespaceKey, q, issuedBy, access }
  const limit = all ? Infinity : most
  const page = await upTo<AuthenticationList>(client, '/auth/v1/tokens', 'authentications', query, limit, PAGE)
  const found = page.authentications
  printMany(given.terminal, found, page, ({ id }) => id, TOKEN_COLUMNS, options)
  const total = page.totalCountExact === false ? `more than ${page.totalCount}` : String(page.totalCount)
  if (page.nextPageToken !== '' && !options.quiet)
    given.terminal.info(`${found.length} of ${total} tokens shown; use --all for the rest.`)
}

type RevokeOptions = TargetOptions & { readonly yes?: boolean; readonly dryRun?: boolean; readonly reason?: string }

type Found = { readonly id: string; readonly record: Authentication }

/** Looks up tokens by id. Reports already ended ones, which need no action, and those that cannot be read. */
const lookUp = async ({ ask }: Client, ids: readonly string[], terminal: Terminal) => {
  const [found, exits]: [Found[], number[]] = [[], []]
  for (const id of ids) {
    try {
      found.push({ id, record: await ask<Authentication>('GET', `/auth/v1/tokens/${segment(id)}`) })
    } catch (error) {
      if (!isFailure(error)) throw error
      const { deletedAt } = error.about
      if (typeof deletedAt === 'string')
        terminal.info(`token ${escapeControl(id)} already ended at ${escapeControl(deletedAt)}: nothing to do`)
      else exits.push(notRevoked(id, error, terminal))
    }
  }
  return { found, exits }
}

const notRevoked = (id: string, { message, kind }: Failure, { info }: Terminal): number => {
  info(`${escapeControl(id)} not revoked: ${message}`)
  return EXIT[kind]
}

const described = ({ id, record }: Found): string => {
  const name = nameOf(record)
  return escapeControl(name === '' ? id : `"${name}" (${id})`)
}

const revoke = async (
  named: readonly string[],
  { yes = false, dryRun = false, reason, ...target }: RevokeOptions,
  given: CommandServices,
): Promise<void> => {
  const { terminal } = given
  const ids = [...new Set(named)]
  for (const id of ids) segment(id)
  const headers = reasonHeaders(reason)
  const client = await clientOf(target, given)
  const { found, exits } = await lookUp(client, ids, terminal)
  if (dryRun) for (const { id } of found) terminal.info(`${id} would be revoked`)
  else if (found.length > 0)
    await confirm(
      terminal,
      found.length === 1 ? `Revoke ${described(found[0]!)}?` : `Revoke ${found.length} tokens?`,
      yes,
    )
  for (const { id } of dryRun ? [] : found) {
    try {
      await client.ask('DELETE', `/auth/v1/tokens/${segment(id)}`, { headers })
      terminal.print(`${id} revoked\n`)
    } catch (error) {
      if (!isFailure(error)) throw error
      exits.push(notRevoked(id, error, terminal))
    }
  }
  if (exits.length > 0) given.endWith(ids.length === 1 ? exits[0]! : EXIT.failed)
}

/** `rollcall token create|list|get|find|revoke`. */
export const addToken = (program: Command, given: CommandServices): void => {
  const token = program
    .command('token')
    .summary('create, list, show, find and revoke client tokens')
    .description('Creates, lists, shows, finds and revokes the tokens of a running service.')
  addTokenCreate(token, given)
  withAnswer(token.command('list'), given, ['table', 'json', 'ndjson', 'name'])
    .summary('list tokens, oldest first')
    .option('--status <status>', 'ACTIVE, EXPIRED or DELETED (default: active and expired)', (text) =>
      text.toUpperCase(),
    )
    .option('--method <method>', 'METHOD_TOKEN, METHOD_OIDC …')
    .option('--namespace <key>', 'bound to this namespace')
    .option('--name <prefix>', 'static tokens whose name has this prefix')
    .option('--issued-by <id>', 'created with this token')
    .option('--access <how far>', 'FULL, NAMESPACED (limited to a namespace) or GRANTED (all others)', (text) =>
      text.toUpperCase(),
    )
    .option('--limit <number>', 'maximum number', wholeNumber, 25)
    .option('--all', 'no limit')
    .action((options: ListOptions) => list(options, given))
  withAnswer(token.command('get <id>'), given, ['table', 'json', 'name'])
    .summary('print one token’s record')
    .action(async (id: string, options: AnswerOptions) => {
      const record = await (await clientOf(options, given)).ask<Authentication>('GET', `/auth/v1/tokens/${segment(id)}`)
      printOne(given.terminal, record, () => record.id, TOKEN_COLUMNS, options)
    })
  addTokenFind(token, given)
  withReason(withTarget(token.command('revoke <id...>'), given))
    .summary('revoke tokens; they stop working immediately')
    .option('--dry-run', 'print the plan without changing anything')
    .option('-y, --yes', 'do not ask for confirmation; required without a terminal')
    .action((ids: readonly string[], options: RevokeOptions) => revoke(ids, options, given))
}
