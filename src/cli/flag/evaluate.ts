import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { BatchEvaluation, BooleanEvaluation, TraceStep, VariantEvaluation } from '../../contract/evaluation.ts'
import type { Client } from '../client/client.ts'
import { type AnswerOptions, type CommandServices, clientOf, pair, withAnswer } from '../options.ts'
import { type Column, printOne, table } from '../terminal/output.ts'

type EvaluateOptions = AnswerOptions & {
  readonly namespace: string
  readonly entity: string
  readonly context?: Readonly<Record<string, string>>
  readonly at?: string
  readonly explain?: boolean
}
type Result = BooleanEvaluation | VariantEvaluation

const answer = (result: Result): string => ('variantKey' in result ? result.variantKey : String(result.enabled))

const COLUMNS: readonly Column<Result>[] = [
  ['FLAG', ({ flagKey }) => flagKey],
  ['ENABLED', (result) => ('enabled' in result ? String(result.enabled) : '')],
  ['MATCH', (result) => ('match' in result ? String(result.match) : '')],
  ['VARIANT', (result) => ('variantKey' in result ? result.variantKey : '')],
  ['ATTACHMENT', (result) => ('variantAttachment' in result ? result.variantAttachment : '')],
  ['REASON', ({ reason }) => reason.replace(/_EVALUATION_REASON$/, '')],
  ['SEGMENTS', ({ segmentKeys }) => segmentKeys.join(', ')],
]
const STEPS: readonly Column<TraceStep>[] = [
  ['STEP', ({ kind }) => kind],
  ['RANK', ({ rank }) => String(rank)],
  ['MATCHED', ({ matched }) => String(matched)],
  ['SEGMENTS', ({ segmentKeys }) => segmentKeys.join(', ')],
  ['BUCKET', ({ bucket }) => (bucket === undefined ? '' : String(bucket))],
  [
    'BOUNDS',
    ({ threshold, cumulative }) => cumulative?.join(' ') ?? (threshold === undefined ? '' : String(threshold)),
  ],
  ['VARIANT', ({ variantKey = '' }) => variantKey],
]

/** Evaluates a flag of either type with a batch of one request; only the routes of a single type explain. */
const resultOf = async ({ ask }: Client, flagKey: string, options: EvaluateOptions): Promise<Result> => {
  const { namespace: namespaceKey, entity: entityId, context = {}, at, explain = false } = options
  const body = { namespaceKey, flagKey, entityId, context }
  const { responses } = await ask<BatchEvaluation>('POST', '/evaluate/v1/batch', {
    body: { requests: [body] },
    query: { at },
  })
  const { booleanResponse, variantResponse } = responses[0]!
  const result = booleanResponse ?? variantResponse ?? fail('notFound', `flag "${namespaceKey}/${flagKey}" not found`)
  if (!explain) return result
  return ask<Result>('POST', `/evaluate/v1/${booleanResponse ? 'boolean' : 'variant'}`, {
    body,
    query: { at, explain: 'true' },
  })
}

const evaluate = async (flagKey: string, options: EvaluateOptions, given: CommandServices): Promise<void> => {
  const result = await resultOf(await clientOf(options, given), flagKey, options)
  printOne(given.terminal, result, () => answer(result), COLUMNS, options)
  if (result.trace && options.output === 'table' && options.field === undefined)
    given.terminal.print(`\n${table(given.terminal, result.trace, STEPS, options)}`)
}

/** `rollcall evaluate`: evaluates a flag for an entity, now or as of a moment. */
export const addEvaluate = (program: Command, given: CommandServices): void => {
  withAnswer(program.command('evaluate <flag>'), given, ['table', 'json', 'name'], 'at')
    .summary('evaluate a flag for an entity')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .requiredOption('-e, --entity <id>', 'the entity')
    .option('-c, --context <key=value>', 'a property of the entity as key=value; repeatable', pair)
    .option('--explain', 'also print each step of the evaluation')
    .action((flagKey: string, options: EvaluateOptions) => evaluate(flagKey, options, given))
}
