import type { Command } from 'commander'
import type { Flag, FlagList } from '../contract/flag.ts'
import { type Client, segment } from './client.ts'
import { EXIT, isFailure } from './failure.ts'
import { addFlagDelete } from './flag-delete.ts'
import { clientOf, type TargetOptions, wholeNumber, withField, withMoment, withOutput, withTarget } from './options.ts'
import { type Column, type OutputOptions, printMany, printOne } from './terminal/output.ts'
import type { Given } from './services.ts'

type FlagOptions = TargetOptions & OutputOptions & { readonly namespace: string; readonly at?: string }

const COLUMNS: readonly Column<Flag>[] = [
  ['KEY', ({ key }) => key],
  ['TYPE', ({ type }) => type.replace(/_FLAG_TYPE$/, '')],
  ['ENABLED', ({ enabled }) => String(enabled)],
  [
    'VARIANTS',
    ({ variants, defaultVariant }) =>
      variants.map(({ id, key }) => (id === defaultVariant?.id ? `${key}*` : key)).join(', '),
  ],
  ['NAME', ({ name }) => name],
  ['UPDATED', ({ updatedAt }) => updatedAt],
]
const MORE: readonly Column<Flag>[] = [
  ...COLUMNS,
  ['CREATED', ({ createdAt }) => createdAt],
  ['DESCRIPTION', ({ description }) => description],
  ['METADATA', ({ metadata }) => (Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata))],
]

const PAGE = 1000
const rootOf = (namespace: string) => `/api/v1/namespaces/${segment(namespace)}/flags`

type ListOptions = FlagOptions & { readonly limit: number; readonly all?: boolean }

/** Fails for a namespace that is not there, whose list is empty as well. Who may not see namespaces is not told. */
const insistOnNamespace = async ({ ask }: Client, namespace: string, at: string | undefined): Promise<void> => {
  try {
    await ask('GET', `/api/v1/namespaces/${segment(namespace)}`, { query: { at } })
  } catch (error) {
    if (!isFailure(error) || error.exit !== EXIT.denied) throw error
  }
}

const list = async (options: ListOptions, given: Given): Promise<void> => {
  const client = await clientOf(options, given)
  const { namespace, at, quiet = false } = options
  const limit = options.all ? Infinity : options.limit
  const found: Flag[] = []
  let page: FlagList = { flags: [], nextPageToken: '', totalCount: 0 }
  do {
    const query = { limit: Math.min(PAGE, limit - found.length), pageToken: page.nextPageToken, at }
    page = await client.ask<FlagList>('GET', rootOf(namespace), { query })
    found.push(...page.flags)
  } while (page.nextPageToken !== '' && found.length < limit)
  if (found.length === 0) await insistOnNamespace(client, namespace, at)
  printMany(given.terminal, found, { ...page, flags: found }, ({ key }) => key, COLUMNS, options)
  if (page.nextPageToken !== '' && !quiet)
    given.terminal.info(`${found.length} of ${page.totalCount} shown; --all shows the rest.`)
}

/** `rollcall flag list|get|delete`: the first two now, or as of any moment. */
export const addFlag = (program: Command, given: Given): void => {
  const flag = program
    .command('flag')
    .summary('list, see and delete flags')
    .description('Works with the flags of a running service.')
  withField(withOutput(withMoment(withTarget(flag.command('list'), given), given), ['table', 'json', 'ndjson', 'name']))
    .summary('list the flags of a namespace, the oldest first')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .option('--limit <number>', 'how many at most', wholeNumber, 25)
    .option('--all', 'all of them')
    .action((options: ListOptions) => list(options, given))
  withField(withOutput(withMoment(withTarget(flag.command('get <key>'), given), given), ['table', 'json', 'name']))
    .summary('print one flag with its variants')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .action(async (key: string, options: FlagOptions) => {
      const { namespace, at } = options
      const found = await (await clientOf(options, given)).ask<Flag>('GET', `${rootOf(namespace)}/${segment(key)}`, {
        query: { at },
      })
      printOne(given.terminal, found, () => found.key, MORE, options)
    })
  addFlagDelete(flag, given)
}
