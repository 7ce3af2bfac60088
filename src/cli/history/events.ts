import { type Command, Option } from 'commander'
import {
  type EventStatistics,
  FIGURES,
  type HistoryEvent,
  type HistoryEvents,
  type StatisticsRow,
} from '../../contract/history/events.ts'
import { upTo } from '../client/lists.ts'
import { type AnswerOptions, type CommandServices, clientOf, wholeNumber, withAnswer } from '../options.ts'
import { type Column, printMany, printOne } from '../terminal/output.ts'
import { actorText, EVENTS, eventAt } from './event.ts'
import { addExportEvents } from './export/export.ts'
import { type FilterOptions, filtersOf, withFilters, withPeriod } from './filters.ts'
import { addReplay } from './replay/replay.ts'
import { addTail } from './tail.ts'
import { addVerifyEvents } from './verify.ts'

type StatsOptions = AnswerOptions & {
  readonly by?: string
  readonly bucket?: string
  readonly from?: string
  readonly to?: string
}

const titleOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase()

const stats = async (
  { by, bucket, from, to, ...options }: StatsOptions,
  { terminal, ...given }: CommandServices,
): Promise<void> => {
  const { ask } = await clientOf(options, { terminal, ...given })
  const query = { by, bucket, from, to }
  const answer = await ask<EventStatistics>('GET', '/audit/v1/stats', { query, whole: true })
  const shown = FIGURES.filter((name) => options.output === 'csv' || answer.rows.some((row) => row[name] > 0))
  const columns: readonly Column<StatisticsRow>[] = [
    ...(bucket === undefined ? [] : [['START', ({ start = '' }) => start] as Column<StatisticsRow>]),
    ...(by === undefined ? [] : [[by.toUpperCase(), ({ by: value = '' }) => value] as Column<StatisticsRow>]),
    ...shown.map((name): Column<StatisticsRow> => [titleOf(name), (row) => String(row[name])]),
  ]
  printMany(terminal, answer.rows, answer, ({ start = '', by: value = '' }) => `${start} ${value}`, columns, options)
}

const addStats = (events: Command, given: CommandServices): void => {
  const counting = withAnswer(events.command('stats'), given, ['table', 'csv', 'json', 'ndjson'])
    .summary('count tokens, logins, refusals and changes')
    .description(
      'Counts tokens, logins, exchanges, refusals, changes and reads of the history. The table omits columns without values.',
    )
    .addOption(
      new Option('--by <property>', 'one row for each value of this property').choices([
        'method',
        'provider',
        'namespaceKey',
        'reason',
      ]),
    )
    .addOption(new Option('--bucket <length>', 'one row for each period of this length').choices(['hour', 'day']))
  withPeriod(counting, given).action((options: StatsOptions) => stats(options, given))
}

type ListOptions = AnswerOptions & {
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly order: 'asc' | 'desc'
  readonly all?: boolean
} & FilterOptions

const COLUMNS: readonly Column<HistoryEvent>[] = [
  ['TIME', ({ time }) => time],
  ['ACTOR', actorText],
  ['SUMMARY', ({ summary }) => summary],
  ['POSITION', ({ position }) => `#${position}`],
]
const MORE: readonly Column<HistoryEvent>[] = [
  ...COLUMNS,
  ['INDEX', ({ index }) => String(index)],
  ['TYPE', ({ type }) => type],
  ['STREAM', ({ stream, revision }) => `${stream} ${revision}`],
  ['NAMESPACE', ({ namespace = '' }) => namespace],
  ['OUTCOME', ({ outcome }) => outcome],
  ['COMMAND', ({ command = '' }) => command],
  ['REASON', ({ reason = '' }) => reason],
  ['REQUEST', ({ requestId = '' }) => requestId],
  ['CHANGES', ({ changes }) => changes.map((change) => JSON.stringify(change)).join('; ')],
  ['DATA', ({ data }) => JSON.stringify(data)],
  ['META', ({ meta }) => JSON.stringify(meta)],
]
const OPENED: readonly Column<HistoryEvent>[] = [...MORE, ['PERSONAL', ({ personal }) => JSON.stringify(personal)]]

const list = async (options: ListOptions, given: CommandServices): Promise<void> => {
  const { from, to, order, all, limit } = options
  const query = { ...filtersOf(options), from, to, order }
  const page = await upTo<HistoryEvents>(
    await clientOf(options, given),
    EVENTS,
    'events',
    query,
    all ? Infinity : limit,
  )
  const found = page.events
  printMany(given.terminal, found, page, ({ position }) => `#${position}`, COLUMNS, options)
  if (page.nextPageToken !== '' && !options.quiet)
    given.terminal.info(`${found.length === 1 ? '1 event' : `${found.length} events`} shown; use --all for the rest.`)
}

type ShowOptions = AnswerOptions & { readonly personal?: boolean }

const show = async (moment: string, options: ShowOptions, given: CommandServices): Promise<void> => {
  const personal = options.personal ? 'open' : undefined
  const event = await eventAt(await clientOf(options, given), moment, given.clock.now().getTime(), personal)
  printOne(given.terminal, event, ({ position }) => `#${position}`, personal ? OPENED : MORE, options)
}

/** `rollcall events`: lists, shows, follows, counts, exports and verifies the events of the history. */
export const addEvents = (program: Command, given: CommandServices): void => {
  const events = program
    .command('events')
    .summary('list, show, follow, count, export, verify and replay the events of the history')
  const listing = withAnswer(events.command('list'), given, ['table', 'csv', 'json', 'ndjson', 'name'])
    .summary('list events, oldest first')
    .description('Lists the events that match all filters. Separate values with commas; ! in front excludes a value.')
  withPeriod(withFilters(listing), given)
    .addOption(new Option('--order <order>', 'order').choices(['asc', 'desc']).default('asc'))
    .addOption(new Option('--limit <n>', 'maximum number of events').argParser(wholeNumber).default(100))
    .option('--all', 'all events')
    .action((options: ListOptions) => list(options, given))
  withAnswer(events.command('show <moment>'), given, ['table', 'json', 'ndjson', 'name'])
    .summary('show one event')
    .description('Shows the event with a position (#12) or an index (@11), or the last event up to a time.')
    .option('--personal', 'open personal data; the service records the read')
    .action((moment: string, options: ShowOptions) => show(moment, options, given))
  addTail(events, given)
  addExportEvents(events, given)
  addVerifyEvents(events, given)
  addReplay(events, given)
  addStats(events, given)
}
