import type { Command } from 'commander'
import { escapeControl } from '../../base/control-characters.ts'
import {
  type AnswersFrom,
  answersInWords,
  partialRules,
  partialRulesInWords,
  stillTrue,
} from '../../contract/answers.ts'
import type { Flag, FlagList, ListedFlag, PartialRule } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import { type Client, ifAllowed, segment } from '../client/client.ts'
import { all, upTo } from '../client/lists.ts'
import { embeddedConfig } from '../offline/store-config.ts'
import {
  type AnswerOptions,
  type CommandServices,
  clientOf,
  type FileOptions,
  reasonHeaders,
  type TargetOptions,
  wholeNumber,
  withAnswer,
  withConfig,
  withReason,
  withTarget,
} from '../options.ts'
import { type Column, type OutputOptions, printMany, printOne } from '../terminal/output.ts'
import { confirm, type Terminal } from '../terminal/terminal.ts'

type DeleteOptions = TargetOptions &
  FileOptions & { readonly namespace: string; readonly yes?: boolean; readonly reason?: string }

/**
 * Deletes through the service, or with --data in the stored data, because the content of a flag may prevent the service
 * from starting.
 */
const remove = async (key: string, options: DeleteOptions, given: CommandServices): Promise<void> => {
  const { load, terminal } = given
  const { namespace, data, reason, yes = false } = options
  const path = `/api/v1/namespaces/${segment(namespace)}/flags/${segment(key)}`
  const headers = reasonHeaders(reason)
  const question = `Delete flag "${namespace}/${key}" with its variants, rules and rollouts?`
  if (data === undefined) {
    const { ask } = await clientOf(options, given)
    await ask('GET', path)
    await confirm(terminal, question, yes)
    await ask('DELETE', path, { headers })
  } else {
    const config = embeddedConfig(options, terminal)
    const { deleteFlagOffline } = await load(() => import('../../app/offline/offline.ts'))
    await confirm(terminal, question, yes)
    await deleteFlagOffline(config, { namespace, key, ...(reason === undefined ? {} : { reason }) }, terminal.info)
  }
  terminal.print(`${namespace}/${key} deleted\n`)
}

/** `rollcall flag delete`: deletes through the running service, or in the data of a stopped one. */
const addFlagDelete = (flag: Command, given: CommandServices): void => {
  withReason(withConfig(withTarget(flag.command('delete <key>'), given), given))
    .summary('delete a flag with its variants, rules and rollouts')
    .description(
      'Deletes a flag through the running service, or, with --data, in the data directory of a stopped service.',
    )
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .option('--data <dir>', 'data directory of a service that is not running')
    .option('-y, --yes', 'skip the confirmation')
    .action((key: string, options: DeleteOptions) => remove(key, options, given))
}

type FlagOptions = AnswerOptions & { readonly namespace: string; readonly at?: string }

const isBoolean = ({ type }: Flag): boolean => type === 'BOOLEAN_FLAG_TYPE'

const VARIANTS: Column<Flag> = [
  'VARIANTS',
  ({ variants, defaultVariant }) =>
    variants.map(({ id, key }) => (id === defaultVariant?.id ? `${key}*` : key)).join(', '),
]
const HEAD: readonly Column<Flag>[] = [
  ['KEY', ({ key }) => key],
  ['TYPE', ({ type }) => type.replace(/_FLAG_TYPE$/, '')],
]
const REST: readonly Column<Flag>[] = [
  VARIANTS,
  ['NAME', ({ name }) => name],
  ['UPDATED', ({ updatedAt }) => updatedAt],
]
const COLUMNS: readonly Column<ListedFlag>[] = [
  ...HEAD,
  // A disabled Boolean flag is not off: `enabled` is its default value.
  ['ENABLED', (flag) => (isBoolean(flag) ? `default ${flag.enabled}` : String(flag.enabled))],
  // Older services do not report the number of rules, so the column stays empty.
  ['ANSWERS', (flag) => (flag.ruleCount === undefined ? '' : answersInWords(flag))],
  ...REST,
]
const moreColumns = (from: AnswersFrom): readonly Column<Flag>[] => [
  ...HEAD,
  ['ENABLED', (flag) => (isBoolean(flag) ? '' : String(flag.enabled))],
  ['DEFAULT', (flag) => (isBoolean(flag) ? String(flag.enabled) : '')],
  ['ANSWERS', () => [answersInWords(from), stillTrue(from)].filter((words) => words !== '').join('; ')],
  ...REST,
  ['CREATED', ({ createdAt }) => createdAt],
  ['DESCRIPTION', ({ description }) => description],
  ['METADATA', ({ metadata }) => (Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata))],
]

const rootOf = (namespace: string) => `/api/v1/namespaces/${segment(namespace)}/flags`

/** The answers of a flag are shown in a table only; other formats print the response of the service unchanged. */
const asTable = ({ output, field }: OutputOptions): boolean => output === 'table' && field === undefined

/** Warns of the rules of a flag whose shares give less than 100 %. */
const warnOfShares = (key: string, rules: readonly PartialRule[], options: FlagOptions, terminal: Terminal): void => {
  const warning = partialRulesInWords(rules)
  if (warning !== undefined && !options.quiet) terminal.info(`warning: ${escapeControl(key)}: ${warning}`)
}

type ListOptions = FlagOptions & { readonly limit: number; readonly all?: boolean }

const list = async (options: ListOptions, given: CommandServices): Promise<void> => {
  const client = await clientOf(options, given)
  const { namespace, at, quiet = false } = options
  const include = asTable(options) ? 'targeting' : undefined
  const limit = options.all ? Infinity : options.limit
  const page = await upTo<FlagList>(client, rootOf(namespace), 'flags', { at, include }, limit)
  const found: readonly ListedFlag[] = page.flags
  // The list of a namespace that does not exist is empty too, but the namespace itself is not found.
  if (found.length === 0)
    await ifAllowed(client.ask('GET', `/api/v1/namespaces/${segment(namespace)}`, { query: { at } }))
  printMany(given.terminal, found, page, ({ key }) => key, COLUMNS, options)
  for (const { key, partialRules: partial = [] } of found) warnOfShares(key, partial, options, given.terminal)
  if (page.nextPageToken !== '' && !quiet)
    given.terminal.info(`${found.length} of ${page.totalCount} flags shown; use --all for the rest.`)
}

const answersFrom = async (client: Client, path: string, flag: Flag, at?: string): Promise<ListedFlag> => {
  if (isBoolean(flag)) {
    const rollouts = await all<Rollout>(client, `${path}/rollouts`, 'rollouts', { at })
    return { ...flag, rollouts }
  }
  const rules = await all<Rule>(client, `${path}/rules`, 'rules', { at })
  return { ...flag, ruleCount: rules.length, partialRules: partialRules(rules) }
}

const get = async (key: string, options: FlagOptions, given: CommandServices): Promise<void> => {
  const { namespace, at } = options
  const client = await clientOf(options, given)
  const path = `${rootOf(namespace)}/${segment(key)}`
  const found = await client.ask<Flag>('GET', path, { query: { at } })
  const from: ListedFlag = asTable(options) ? await answersFrom(client, path, found, at) : found
  printOne(given.terminal, found, () => found.key, moreColumns(from), options)
  warnOfShares(key, from.partialRules ?? [], options, given.terminal)
}

/** `rollcall flag list|get|delete`. `list` and `get` show the present or a moment. */
export const addFlag = (program: Command, given: CommandServices): void => {
  const flag = program
    .command('flag')
    .summary('list, show and delete flags')
    .description('Lists, shows and deletes the flags of a running service.')
  withAnswer(flag.command('list'), given, ['table', 'json', 'ndjson', 'name'], 'at')
    .summary('list the flags of a namespace, oldest first')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .option('--limit <number>', 'maximum number', wholeNumber, 25)
    .option('--all', 'no limit')
    .action((options: ListOptions) => list(options, given))
  withAnswer(flag.command('get <key>'), given, ['table', 'json', 'name'], 'at')
    .summary('print one flag with its variants')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .action((key: string, options: FlagOptions) => get(key, options, given))
  addFlagDelete(flag, given)
}
