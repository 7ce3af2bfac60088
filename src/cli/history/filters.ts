import { type Command, InvalidArgumentError } from 'commander'
import type { CommandServices } from '../options.ts'
import { momentOf } from '../options.ts'

/** Options that are filters: option, parameter of api.md §16.3, and meaning. */
const FILTERS: readonly (readonly [option: string, parameter: string, meaning: string])[] = [
  ['type', 'type', 'types, such as Token* or FlagUpdated'],
  ['category', 'category', 'kinds of events: token, login, refusal, namespace, flag, segment, …'],
  ['stream', 'stream', 'event streams, such as flag-default+checkout or flag-shop+*'],
  ['actor', 'actor', 'actor of the events: id of a token, or token, anonymous, system, operator'],
  ['token-id', 'tokenId', 'events that change this token, or that requests with this token caused'],
  ['subject', 'subject', 'persons (person-…)'],
  ['namespace', 'namespaceKey', 'namespaces'],
  ['flag', 'flagKey', 'flags of --namespace'],
  ['segment', 'segmentKey', 'segments of --namespace'],
  ['method', 'method', 'methods: token, oidc, codehost, orchestrator'],
  ['provider', 'provider', 'providers of logins'],
  ['outcome', 'outcome', 'results: success, denied, failed'],
  ['request-id', 'requestId', 'requests'],
  ['correlation-id', 'correlationId', 'events of these logins or requests, by their correlation id'],
  ['command', 'command', 'commands, such as IssueToken'],
  ['route', 'route', 'routes'],
  ['search', 'q', 'events with this text in summary, reason, stream, type or route'],
]
const PARAMETERS: ReadonlyMap<string, string> = new Map(
  FILTERS.flatMap(([option, parameter]) => [
    [option, parameter],
    [parameter, parameter],
  ]),
)

/** Values of a filter; without a value it would be no filter. */
const valuesOf = (text: string): string => {
  if (!/[^\s,]/.test(text)) throw new InvalidArgumentError('Expected at least one value.')
  return text
}

/** Parses `--where 'type:Token* outcome:denied'`. A value ends at a space. */
const whereOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    valuesOf(text)
      .trim()
      .split(/\s+/)
      .map((part) => {
        const colon = part.indexOf(':')
        const parameter = PARAMETERS.get(part.slice(0, Math.max(0, colon)))
        if (parameter === undefined) throw new InvalidArgumentError(`Expected filter:value, got "${part}".`)
        return [parameter, valuesOf(part.slice(colon + 1))]
      }),
  )

/** Adds the options of a period. */
export const withPeriod = (command: Command, { clock }: Pick<CommandServices, 'clock'>): Command => {
  const instant = (text: string): string => momentOf(text, clock.now().getTime(), '--from and --to')
  return command
    .option('--from <instant>', 'events from this moment on: an RFC 3339 time, a day or -1h', instant)
    .option('--to <instant>', 'before this time', instant)
}

/** Index in a moment such as `@11`; undefined for other moments. */
export const indexIn = (moment: string): number | undefined => {
  const [, index] = /^@(\d{1,15})$/.exec(moment) ?? []
  return index === undefined ? undefined : Number(index)
}

/** Values of the options of `withFilters`. */
export type FilterOptions = { readonly where?: Readonly<Record<string, string>> } & Readonly<Record<string, unknown>>

/** Adds the options that filter events. */
export const withFilters = (command: Command): Command => {
  for (const [option, , meaning] of FILTERS) command.option(`--${option} <values>`, meaning, valuesOf)
  return command.option('--where <filters>', "all filters in one text, such as 'type:Token* outcome:denied'", whereOf)
}

/** Filters of the options, as parameters of the request. */
export const filtersOf = (options: FilterOptions): Readonly<Record<string, string | undefined>> => ({
  ...options.where,
  ...Object.fromEntries(
    FILTERS.flatMap(([option, parameter]) => {
      const value = options[option.replace(/-[a-z]/g, (part) => part[1]!.toUpperCase())]
      return typeof value === 'string' ? [[parameter, value]] : []
    }),
  ),
})
