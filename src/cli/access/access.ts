import type { Command } from 'commander'
import { grantText } from '../../access/grants.ts'
import { RIGHTS } from '../../access/rights.ts'
import { escapeControl } from '../../base/control-characters.ts'
import { EXIT } from '../../base/failure.ts'
import type { Access, AccessChecked, AccessReview } from '../../contract/access.ts'
import type { Session } from '../../contract/login/login.ts'
import type { Authentication } from '../../contract/token.ts'
import type { Client, ListBudget } from '../client/client.ts'
import { pagesOf } from '../client/lists.ts'
import { type AnswerOptions, type CommandServices, clientOf, withAnswer } from '../options.ts'
import { type Column, printMany, printOne } from '../terminal/output.ts'
import { nameOf } from '../token/holder.ts'

const METHODS: Readonly<Record<string, string>> = {
  METHOD_TOKEN: 'static token',
  METHOD_OIDC: 'OpenID Connect login',
}

/** A login method in words. Methods that a deployment may rename are shown by their name. */
const methodOf = (method: string): string =>
  METHODS[method] ??
  method
    .replace(/^METHOD_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')

const accessOf = ({ full, namespaceKey, grants = [] }: Access): string => {
  if (full) return 'full access'
  const given = grants.map(({ namespaceKey: place, role, rights }) =>
    grantText({ place, ...(role === undefined ? { rights } : { role }) }),
  )
  if (given.length > 0) return given.join(', ')
  return namespaceKey === undefined
    ? 'nothing'
    : `full access to namespace ${namespaceKey}, but no rights outside of it`
}

/**
 * Describes the token: its name, login method, access and expiry. `record` is undefined if the token may not read its
 * own record.
 */
const about = (access: Access, record: Authentication | undefined): readonly string[] => {
  const { authenticationId: id, expiresAt, publishable } = access
  if (id === undefined) return ['No token is in use: the service requires none.']
  const name = record && nameOf(record)
  return [
    `Token ${id}`,
    ...(name ? [`Name: ${name}`] : []),
    ...(record ? [`Method: ${methodOf(record.method)}`] : []),
    `Access: ${accessOf(access)}`,
    expiresAt === undefined ? 'It never expires.' : `Expires ${expiresAt}`,
    ...(publishable ? ['It can be published.'] : []),
  ]
}

const whoAmI = async (options: AnswerOptions, given: CommandServices): Promise<void> => {
  const { ask } = await clientOf(options, given)
  const access = await ask<Access>('GET', '/auth/v1/access')
  if (options.output === 'table' && options.field === undefined && !options.quiet) {
    const { authentication } = await ask<Session>('GET', '/auth/v1/self/session')
    for (const line of about(access, authentication)) given.terminal.info(escapeControl(line))
  }
  printMany(
    given.terminal,
    access.places,
    access,
    ({ namespaceKey }) => namespaceKey,
    [
      ['NAMESPACE', ({ namespaceKey }) => namespaceKey],
      ['RIGHTS', ({ rights }) => rights.join(' ')],
    ],
    options,
  )
}

/** `rollcall whoami`: lists the rights of the token in use by namespace. */
export const addWhoAmI = (program: Command, given: CommandServices): void => {
  withAnswer(program.command('whoami'), given, ['table', 'json', 'ndjson', 'name'])
    .summary('list the rights of the token in use')
    .description(
      'Lists the rights of the token in use by namespace; * stands for all namespaces and the deployment, or for all rights.',
    )
    .action((options: AnswerOptions) => whoAmI(options, given))
}

type CanIOptions = AnswerOptions & { readonly namespace?: string; readonly tokenId?: string; readonly at?: string }

/** Reason why a token is or is not allowed to do something, in words. */
const why = ({ reason, because }: Pick<AccessChecked, 'reason' | 'because'>): string => {
  if (because) {
    const { namespaceKey: place, role, rule, grant } = because
    const granted = role === undefined ? `grant ${grant + 1}, in ${place}` : grantText({ place, role })
    return `granted by ${granted}${rule === undefined ? '' : `, from the rule ${rule}`}`
  }
  const words: Readonly<Record<AccessChecked['reason'], string>> = {
    full_reach: 'the token has full access',
    namespaced: 'the token was created for this namespace',
    granted: 'granted',
    open: 'the service requires no token',
    not_granted: 'no grant includes it',
    token_expired: 'the token is expired',
    token_deleted: 'the token is deleted',
    token_unknown: 'no token has this id',
  }
  return words[reason]
}

const canI = async (right: string, options: CanIOptions, given: CommandServices): Promise<void> => {
  const { namespace: namespaceKey, tokenId: id, at } = options
  const { ask } = await clientOf(options, given)
  const checked = await ask<AccessChecked>('GET', '/auth/v1/access/check', { query: { right, namespaceKey, id, at } })
  const answer = checked.allowed ? 'yes' : 'no'
  printOne(
    given.terminal,
    checked,
    () => answer,
    [
      ['ALLOWED', () => answer],
      ['WHY', why],
      ['RIGHT', ({ right }) => right],
      ['NAMESPACE', ({ namespaceKey }) => namespaceKey],
    ],
    options,
  )
  if (!checked.allowed) given.endWith(EXIT.check)
}

/** `rollcall can-i`: checks whether a token has a right, now or as of a moment, and why. */
export const addCanI = (program: Command, given: CommandServices): void => {
  withAnswer(program.command('can-i <right>'), given, ['table', 'json', 'name'], 'at')
    .summary('check whether a token has a right, and why')
    .description(
      'Checks whether a token (by default the token in use) has a right, such as flag.update, in a namespace (by default in all namespaces). Exit code 0: the token has the right; 3: it does not.',
    )
    .option('-n, --namespace <key>', 'namespace (default: all)')
    .option('--token-id <id>', 'id of the token to check (default: the token in use)')
    .action((right: string, options: CanIOptions) => canI(right, options, given))
}

type AccessOptions = AnswerOptions & { readonly namespace?: string; readonly at?: string | undefined }
type Able = AccessReview['entries'][number] & { readonly right: string }

const COLUMNS: readonly Column<Able>[] = [
  ['RIGHT', ({ right }) => right],
  ['ID', ({ authenticationId }) => authenticationId],
  ['METHOD', ({ method }) => method.replace(/^METHOD_/, '')],
  ['NAME', ({ name = '' }) => name],
  ['WHY', why],
  [
    'GRANT',
    ({ because }) =>
      because?.role === undefined ? '' : grantText({ place: because.namespaceKey, role: because.role }),
  ],
  ['RULE', ({ because }) => because?.rule ?? ''],
]

const PAGE = 1000

/** Tokens that have a right: all pages, read as of the moment of the first page. */
const review = async ({ ask }: Client, right: string, { namespace: namespaceKey, at }: AccessOptions) => {
  const entries: AccessReview['entries'][number][] = []
  let [moment, anonymous] = [at, false]
  const ofPage = (pageToken: string, list: ListBudget) => {
    const query = { right, namespaceKey, at: moment, limit: PAGE, pageToken }
    return ask<AccessReview>('GET', '/audit/v1/access', { query, whole: true, list })
  }
  for await (const page of pagesOf(ofPage)) {
    entries.push(...page.entries)
    ;({ position: moment, anonymous } = page)
  }
  return { right, position: moment, anonymous, entries }
}

const access = async (right: string | undefined, options: AccessOptions, given: CommandServices): Promise<void> => {
  const asking = await clientOf(options, given)
  const reviews: Awaited<ReturnType<typeof review>>[] = []
  for (const each of right === undefined ? RIGHTS : [right])
    reviews.push(await review(asking, each, { ...options, at: reviews[0]?.position ?? options.at }))
  const able = reviews.flatMap((one) => one.entries.map((entry) => ({ ...entry, right: one.right })))
  if (reviews.some(({ anonymous }) => anonymous) && !options.quiet)
    given.terminal.info('The service requires no token: every client that can connect to the service has this right.')
  printMany(given.terminal, able, reviews, ({ authenticationId }) => authenticationId, COLUMNS, options)
}

/** `rollcall access`: lists the tokens that have a right, now or as of a moment. */
export const addAccess = (program: Command, given: CommandServices): void => {
  withAnswer(program.command('access [right]'), given, ['table', 'csv', 'json', 'ndjson', 'name'], 'at')
    .summary('list the tokens that have a right, and why')
    .description(
      'Lists the tokens that have a right (such as flag.update; default: every right) in a namespace (default: all namespaces).',
    )
    .option('-n, --namespace <key>', 'namespace (default: all)')
    .action((right: string | undefined, options: AccessOptions) => access(right, options, given))
}
