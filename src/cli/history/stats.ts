import { type Command, Option } from 'commander'
import { type EventStatistics, FIGURES, type StatisticsRow } from '../../contract/history/events.ts'
import { type CommandServices, clientOf, type TargetOptions, withField, withOutput, withTarget } from '../options.ts'
import { type Column, type OutputOptions, printMany } from '../terminal/output.ts'
import { withPeriod } from './filters.ts'

type StatsOptions = TargetOptions &
  OutputOptions & { readonly by?: string; readonly bucket?: string; readonly from?: string; readonly to?: string }

/** Title of a column: TOKENS ISSUED for `tokensIssued`. */
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

/** `rollcall events stats`: counts events. */
export const addStats = (events: Command, given: CommandServices): void => {
  const counting = withField(withOutput(withTarget(events.command('stats'), given), ['table', 'csv', 'json', 'ndjson']))
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
