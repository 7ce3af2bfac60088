import type { Command } from 'commander'
import { EXIT, fail } from '../../base/failure.ts'
import { changedItems } from '../../contract/changed-items.ts'
import type { DiffItem, StateDiff, StreamState } from '../../contract/history/state.ts'
import { segment } from '../client/client.ts'
import { pages } from '../client/lists.ts'
import {
  type AnswerOptions,
  type CommandServices,
  clientOf,
  momentOf,
  withAnswer,
  withOutput,
  withTarget,
} from '../options.ts'
import { type Column, printMany, printOne } from '../terminal/output.ts'

type StateOptions = AnswerOptions & { readonly at?: string }

const STATE: readonly Column<StreamState>[] = [
  ['STREAM', ({ stream }) => stream],
  ['EXISTS', ({ exists }) => String(exists)],
  ['REVISION', ({ revision = '' }) => revision],
  ['AT', ({ at }) => `${at.time} #${at.position}`],
  ['LAST EVENT', ({ lastEvent: { type, time, position } }) => `${type} ${time} #${position}`],
  ['STATE', ({ state }) => (state ? JSON.stringify(state) : '')],
]

const state = async (name: string, options: StateOptions, given: CommandServices): Promise<void> => {
  const slash = name.indexOf('/')
  if (slash < 1) fail('usage', 'The argument must be CATEGORY/ID, such as flag/default+checkout.')
  const path = `/audit/v1/state/${segment(name.slice(0, slash))}/${segment(name.slice(slash + 1))}`
  const { ask } = await clientOf(options, given)
  const found = await ask<StreamState>('GET', path, { query: { at: options.at } })
  printOne(given.terminal, found, ({ stream }) => stream, STATE, options)
}

type DiffOptions = AnswerOptions & { readonly stream?: string; readonly namespace?: string }

/** A change in one line; of a long list or object only what differs. */
const changeText = ({ path, from, to }: DiffItem['changes'][number]): string => {
  const { removed = [], added = [], same } = changedItems(from, to) ?? {}
  if (same === undefined) return `${path}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`
  const parts = [
    ...removed.map((item) => `-${JSON.stringify(item)}`),
    ...added.map((item) => `+${JSON.stringify(item)}`),
  ]
  return `${path}: ${parts.join(' ')} (${same} unchanged)`
}

const DIFF: readonly Column<DiffItem>[] = [
  ['STREAM', ({ stream }) => stream],
  ['KIND', ({ kind }) => kind],
  ['CHANGES', ({ kind, changes }) => (kind === 'changed' ? changes.map(changeText).join('; ') : '')],
]

const diff = async (
  [a, b]: readonly [string, string | undefined],
  options: DiffOptions,
  given: CommandServices,
): Promise<void> => {
  const { stream, namespace: namespaceKey } = options
  if ((stream === undefined) === (namespaceKey === undefined))
    fail('usage', 'Give exactly one of --stream and --namespace.')
  const client = await clientOf(options, given)
  const now = given.clock.now().getTime()
  const moments = { a: momentOf(a, now, 'A'), ...(b !== undefined && { b: momentOf(b, now, 'B') }) }
  const items: DiffItem[] = []
  let last: StateDiff | undefined
  for await (const page of pages<StateDiff>(client, '/audit/v1/diff', { ...moments, stream, namespaceKey }, true)) {
    items.push(...page.items)
    last = page
  }
  const whole = { ...last, items, equal: items.length === 0 }
  printMany(given.terminal, items, whole, ({ stream }) => stream, DIFF, options)
  if (items.length > 0) given.endWith(EXIT.check)
}

/** `rollcall state`: shows a token, namespace, flag or segment at a moment. */
export const addState = (program: Command, given: CommandServices): void => {
  withAnswer(program.command('state <name>'), given, ['table', 'json', 'ndjson'], 'at')
    .summary('show a token, namespace, flag or segment at a moment')
    .description('Shows the state of CATEGORY/ID, such as flag/default+checkout or token/<id>, with its last event.')
    .action((name: string, options: StateOptions) => state(name, options, given))
}

/** `rollcall diff`: compares two moments. */
export const addDiff = (program: Command, given: CommandServices): void => {
  withOutput(withTarget(program.command('diff <a> [b]'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('compare a stream or a namespace at two moments')
    .description('Compares the moments A and B (default: now). Exit code 0: equal, 3: different.')
    .option('--stream <stream>', 'a stream, such as flag-default+checkout')
    .option('-n, --namespace <key>', 'a namespace with its flags and segments')
    .action((a: string, b: string | undefined, options: DiffOptions) => diff([a, b], options, given))
}
