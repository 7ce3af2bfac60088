import { type Command, InvalidArgumentError } from 'commander'
import { EVERYWHERE, grantText, type Read, readGrant, readRights } from '../../access/grants.ts'
import { isRight } from '../../access/rights.ts'
import type { NewlyIssued, TokenRequest } from '../../app/offline/offline.ts'
import { fail, isFailure } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import { parseDuration } from '../../config/types.ts'
import type { GrantAsked } from '../../contract/grants.ts'
import { instantOf } from '../../contract/readers/value.ts'
import type { Authentication } from '../../contract/token.ts'
import { type Client, client, isUnreachable, segment } from '../client/client.ts'
import { findToken } from '../client/credential.ts'
import { dataConfig, embeddedConfig } from '../offline/store-config.ts'
import {
  type CommandServices,
  type FileOptions,
  pair,
  reasonHeaders,
  type TargetOptions,
  withConfig,
  withField,
  withOutput,
  withReason,
  withTarget,
} from '../options.ts'
import { type OutputOptions, printOne, table } from '../terminal/output.ts'
import { TOKEN_COLUMNS } from './holder.ts'

type Shown = NonNullable<Authentication['grants']>[number]

const gathered = (read: Read, others: readonly GrantAsked[]): readonly GrantAsked[] => {
  if ('wrong' in read) throw new InvalidArgumentError(`It ${read.wrong}.`)
  const { place: namespaceKey, role, rights } = read.grant
  return [...others, { namespaceKey, role, rights: rights?.filter(isRight) }]
}

/** Collects grants of the form `ROLE@NAMESPACE` from a repeatable option. */
const roleAt = (text: string, others: readonly GrantAsked[] = []): readonly GrantAsked[] =>
  gathered(readGrant(text), others)

/** Collects grants of the form `RIGHT,RIGHT@NAMESPACE` from a repeatable option. */
const rightsAt = (text: string, others: readonly GrantAsked[] = []): readonly GrantAsked[] =>
  gathered(readRights(text), others)

/** Canonical text of a grant, independent of the order of its rights. */
const grantWords = ({ namespaceKey: place, role, rights = [] }: GrantAsked | Shown): string =>
  role === undefined
    ? grantText({ place, rights: rights.toSorted((a, b) => (a < b ? -1 : 1)) })
    : grantText({ place, role })

/**
 * Difference between the requested grants and those of a record; undefined if there is none. Older services ignore
 * grants.
 */
const grantsDiffer = (
  { role, grants, namespaceKey }: Pick<TokenRequest, 'role' | 'grants' | 'namespaceKey'>,
  record: Pick<Authentication, 'grants'>,
): string | undefined => {
  const due = role === undefined ? grants : [{ namespaceKey: namespaceKey ?? EVERYWHERE, role, rights: undefined }]
  const [requested, issued] = [due, record.grants].map((all) => (all ?? []).map(grantWords).join(' '))
  return requested === issued ? undefined : `Requested: ${requested || 'no grants'}; issued: ${issued || 'no grants'}.`
}

const DAY_MS = 86_400_000

/** Converts `30d`, `12h30m`, an RFC 3339 instant or `never` (undefined) to an RFC 3339 instant in UTC. `now` in ms. */
export const expiryOf = (text: string, now: number): string | undefined => {
  if (text === 'never') return undefined
  const [, days = '0', after = ''] = /^(?:(\d{1,5})d)?(.*)$/.exec(text) ?? []
  const span = Number(days) * DAY_MS + (after === '' ? 0 : (parseDuration(after) ?? Number.NaN))
  if (span > 0) return new Date(now + span).toISOString()
  const instant = instantOf(text)
  if (instant === undefined)
    return fail('usage', '--expires must be a duration such as 30d or 12h, an RFC 3339 time, or never.')
  return Date.parse(instant) > now ? instant : fail('usage', '--expires must be in the future.')
}

type CreateOptions = TargetOptions &
  FileOptions &
  OutputOptions & {
    readonly description?: string
    readonly expires: string
    readonly namespace?: string
    readonly role?: string
    readonly grant?: TokenRequest['grants']
    readonly rights?: TokenRequest['grants']
    readonly metadata?: Readonly<Record<string, string>>
    readonly reason?: string
    readonly dryRun?: boolean
  }

/**
 * Creates a token in the stored data: in a directory while the service is stopped, on servers at any time. The history
 * records the user and the reason.
 */
const makeOnData = async (
  config: Config,
  request: TokenRequest,
  { load, terminal }: CommandServices,
): Promise<NewlyIssued> => {
  if (request.reason === undefined)
    fail(
      'usage',
      'Add --reason TEXT. If a token is created without the running service, the event log records your user name and this reason.',
    )
  const { createTokenOffline } = await load(() => import('../../app/offline/offline.ts'))
  return createTokenOffline(config, request, terminal.info)
}

/** Revokes a token with unexpected grants: with the creator's token, else with the new token itself. */
const end = async (maker: Client, { clientToken, authentication }: NewlyIssued, own: Client): Promise<void> => {
  try {
    await maker.ask('DELETE', `/auth/v1/tokens/${segment(authentication.id)}`)
  } catch (error) {
    if (!isFailure(error) || clientToken === undefined) throw error
    await own.ask('PUT', '/auth/v1/self/expire', { body: {} })
  }
}

/**
 * Creates a token through the service, and revokes it if its grants differ from the request: an older service ignores
 * roles and grants more.
 */
const ask = async (
  { reason, ...body }: TokenRequest,
  { address, timeout }: CreateOptions,
  token: string | undefined,
  { clock }: CommandServices,
): Promise<NewlyIssued> => {
  const maker = client(address, token, timeout, clock)
  const headers = reasonHeaders(reason)
  const issued = await maker.ask<NewlyIssued>('POST', '/auth/v1/method/token', { body, headers })
  const wrong = grantsDiffer(body, issued.authentication)
  if (wrong === undefined) return issued
  await end(maker, issued, client(address, issued.clientToken, timeout, clock))
  return fail(
    'failed',
    `The grants of the issued token differ from the requested grants, so the command has revoked the token. ${wrong}`,
    'Check whether an instance of an older version is running.',
  )
}

/**
 * Creates a token through the service, or in the stored data in three cases: with --data; with a configuration while no
 * service answers; or with a configuration of servers and without a token for the service.
 */
const make = async (
  request: TokenRequest,
  options: CreateOptions,
  given: CommandServices,
  addressed: boolean,
): Promise<NewlyIssued> => {
  const { terminal } = given
  if (options.data !== undefined) return makeOnData(embeddedConfig(options, terminal), request, given)
  const token = await findToken(options.tokenFile, terminal)
  const configured = options.config && !addressed
  if (configured && token === undefined) {
    const config = dataConfig(options, terminal)
    if (config.storage.type === 'cluster') {
      if (!options.quiet)
        terminal.info(
          'No token for the running service is set, so the command writes to the servers in the configuration directly.',
        )
      return makeOnData(config, request, given)
    }
  }
  try {
    return await ask(request, options, token, given)
  } catch (error) {
    if (!isUnreachable(error) || !configured) throw error
    if (!options.quiet)
      terminal.info('No service answers, so the command writes to the stores in the configuration directly.')
    return makeOnData(dataConfig(options, terminal), request, given)
  }
}

const create = async (
  name: string,
  options: CreateOptions,
  given: CommandServices,
  addressed: boolean,
): Promise<void> => {
  const { print, info } = given.terminal
  const { description = '', namespace, metadata = {}, reason, output, role, grant = [], rights = [] } = options
  reasonHeaders(reason)
  const grants = [...grant, ...rights]
  if (grants.length > 0 && (role ?? namespace) !== undefined)
    fail(
      'usage',
      `--grant and --rights cannot be combined with --${role === undefined ? 'namespace' : 'role'}, because they contain their own namespaces.`,
    )
  const expiresAt = expiryOf(options.expires, given.clock.now().getTime())
  const request: Required<TokenRequest> = {
    name,
    description,
    metadata,
    expiresAt,
    namespaceKey: namespace,
    role,
    grants: grants.length === 0 ? undefined : grants,
    reason,
  }
  if (options.dryRun) {
    info('Would create this token:')
    print(`${JSON.stringify(request, undefined, 2)}\n`)
    return
  }
  const issued = await make(request, options, given, addressed)
  if (output === 'table' && options.field === undefined) {
    const rows = TOKEN_COLUMNS.filter(([, text]) => text(issued.authentication) !== '')
    if (!options.quiet) {
      info(
        table(
          given.terminal,
          rows,
          [
            ['FIELD', ([title]) => title],
            ['VALUE', ([, text]) => text(issued.authentication)],
          ],
          { headers: false, color: false },
        ).trimEnd(),
      )
      info('The token, shown only once:')
    }
    print(`${issued.clientToken}\n`)
  } else printOne(given.terminal, issued, ({ authentication }) => authentication.id, [], options)
}

/** `rollcall token create`: prints only the token on standard output; everything else goes to standard error. */
export const addTokenCreate = (token: Command, given: CommandServices): void => {
  withReason(
    withField(withOutput(withConfig(withTarget(token.command('create <name>'), given), given), ['table', 'json'])),
  )
    .summary('create a static token')
    .description(
      'Creates a static token through the running service. With --reason the command can also write the token to the stores directly: with --data to the data directory of a stopped service, or, if no token for the service is set, to the servers in the configuration.',
    )
    .option('--description <text>', 'purpose of the token')
    .option('--expires <when>', 'end of the token: a duration such as 30d, an RFC 3339 time, or never', '30d')
    .option('--role <role>', 'role of the token: client, server, viewer, editor, admin, auditor or a configured role')
    .option('--namespace <key>', 'limit the token to this namespace')
    .option('--grant <role@namespace>', 'a role in one namespace, or in all (editor@*); can be repeated', roleAt)
    .option('--rights <right,right@namespace>', 'single rights instead of a role; repeatable', rightsAt)
    .option('--metadata <key=value>', 'additional information about the token as key=value; repeatable', pair)
    .option('--data <dir>', 'data directory of a service that is not running')
    .option('--dry-run', 'print the request without sending it')
    .action((name: string, options: CreateOptions, command: Command) =>
      create(name, options, given, command.getOptionValueSource('address') !== 'default'),
    )
}
