import type { Command } from 'commander'
import { grantText } from '../../access/grants.ts'
import { RIGHTS } from '../../access/rights.ts'
import type { AccessReview } from '../../contract/access.ts'
import type { Client } from '../client/client.ts'
import {
  type CommandServices,
  clientOf,
  type TargetOptions,
  withField,
  withMoment,
  withOutput,
  withTarget,
} from '../options.ts'
import { type Column, type OutputOptions, printMany } from '../terminal/output.ts'
import { why } from './can-i.ts'

type AccessOptions = TargetOptions & OutputOptions & { readonly namespace?: string; readonly at?: string | undefined }
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
  let [pageToken, moment, anonymous] = ['', at, false]
  do {
    const query = { right, namespaceKey, at: moment, limit: PAGE, pageToken }
    const page = await ask<AccessReview>('GET', '/audit/v1/access', { query, whole: true })
    entries.push(...page.entries)
    ;({ nextPageToken: pageToken, position: moment, anonymous } = page)
  } while (pageToken !== '')
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
  withField(
    withOutput(withMoment(withTarget(program.command('access [right]'), given), given), [
      'table',
      'csv',
      'json',
      'ndjson',
      'name',
    ]),
  )
    .summary('list the tokens that have a right, and why')
    .description(
      'Lists the tokens that have a right (such as flag.update; default: every right) in a namespace (default: all namespaces).',
    )
    .option('-n, --namespace <key>', 'namespace (default: all)')
    .action((right: string | undefined, options: AccessOptions) => access(right, options, given))
}
