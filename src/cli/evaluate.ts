import type { Command } from 'commander'
import type { BatchEvaluation, BooleanEvaluation, TraceStep, VariantEvaluation } from '../contract/evaluation.ts'
import { fail } from '../failure.ts'
import type { Client } from './client.ts'
import { clientOf, pair, type TargetOptions, withField, withMoment, withOutput, withTarget } from './options.ts'
import type { CommandServices } from './services.ts'
import { type Column, type OutputOptions, printOne, table } from './terminal/output.ts'

type EvaluateOptions = TargetOptions &
  OutputOptions & {
    readonly namespace: string
    readonly entity: string
    readonly context?: Readonly<Record<string, string>>
    readonly at?: string
    readonly explain?: boolean
  }
/** What a flag of either type says. */
type Said = BooleanEvaluation | VariantEvaluation

const answer = (said: Said): string => ('variantKey' in said ? said.variantKey : String(said.enabled))

const COLUMNS: readonly Column<Said>[] = [
  ['FLAG', ({ flagKey }) => flagKey],
  ['ENABLED', (said) => ('enabled' in said ? String(said.enabled) : '')],
  ['MATCH', (said) => ('match' in said ? String(said.match) : '')],
  ['VARIANT', (said) => ('variantKey' in said ? said.variantKey : '')],
  ['ATTACHMENT', (said) => ('variantAttachment' in said ? said.variantAttachment : '')],
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

/** A batch of one answers a flag of either type; only the single routes explain. */
const asked = async ({ ask }: Client, flagKey: string, options: EvaluateOptions): Promise<Said> => {
  const { namespace: namespaceKey, entity: entityId, context = {}, at, explain = false } = options
  const body = { namespaceKey, flagKey, entityId, context }
  const { responses } = await ask<BatchEvaluation>('POST', '/evaluate/v1/batch', {
    body: { requests: [body] },
    query: { at },
  })
  const { booleanResponse, variantResponse } = responses[0]!
  const said = booleanResponse ?? variantResponse ?? fail('notFound', `flag "${namespaceKey}/${flagKey}" not found`)
  if (!explain) return said
  return ask<Said>('POST', `/evaluate/v1/${booleanResponse ? 'boolean' : 'variant'}`, {
    body,
    query: { at, explain: 'true' },
  })
}

const evaluate = async (flagKey: string, options: EvaluateOptions, given: CommandServices): Promise<void> => {
  const said = await asked(await clientOf(options, given), flagKey, options)
  printOne(given.terminal, said, () => answer(said), COLUMNS, options)
  if (said.trace && options.output === 'table' && options.field === undefined)
    given.terminal.print(`\n${table(given.terminal, said.trace, STEPS, options)}`)
}

/** `rollcall evaluate`: what a flag says to an entity, now or as of any moment, and why. */
export const addEvaluate = (program: Command, given: CommandServices): void => {
  withField(
    withOutput(withMoment(withTarget(program.command('evaluate <flag>'), given), given), ['table', 'json', 'name']),
  )
    .summary('ask a flag about an entity')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .requiredOption('-e, --entity <id>', 'the entity')
    .option('-c, --context <key=value>', 'a pair of the context; may be repeated', pair)
    .option('--explain', 'each step to the answer')
    .action((flagKey: string, options: EvaluateOptions) => evaluate(flagKey, options, given))
}
