import type { Command } from 'commander'
import type { Client } from './client.ts'
import { fail } from './failure.ts'
import { clientOf, pair, type TargetOptions, withField, withMoment, withOutput, withTarget } from './options.ts'
import { type Column, type OutputOptions, printOne, table } from './terminal/output.ts'
import { print } from './terminal/terminal.ts'

type EvaluateOptions = TargetOptions &
  OutputOptions & {
    readonly namespace: string
    readonly entity: string
    readonly context?: Readonly<Record<string, string>>
    readonly at?: string
    readonly explain?: boolean
  }
type Step = {
  readonly kind: string
  readonly rank: number
  readonly matched: boolean
  readonly segmentKeys: readonly string[]
  readonly bucket?: number
  readonly threshold?: number
  readonly cumulative?: readonly number[]
  readonly variantKey?: string
}
/** What a flag says; `enabled` of a boolean flag, `match` and the variant of the other. */
type Said = {
  readonly flagKey: string
  readonly enabled?: boolean
  readonly match?: boolean
  readonly variantKey?: string
  readonly variantAttachment?: string
  readonly reason: string
  readonly segmentKeys: readonly string[]
  readonly timestamp: string
  readonly trace?: readonly Step[]
}
type Batch = { readonly responses: readonly [{ readonly booleanResponse?: Said; readonly variantResponse?: Said }] }

const text = (value: boolean | undefined) => (value === undefined ? '' : String(value))

const COLUMNS: readonly Column<Said>[] = [
  ['FLAG', ({ flagKey }) => flagKey],
  ['ENABLED', ({ enabled }) => text(enabled)],
  ['MATCH', ({ match }) => text(match)],
  ['VARIANT', ({ variantKey = '' }) => variantKey],
  ['ATTACHMENT', ({ variantAttachment = '' }) => variantAttachment],
  ['REASON', ({ reason }) => reason.replace(/_EVALUATION_REASON$/, '')],
  ['SEGMENTS', ({ segmentKeys }) => segmentKeys.join(', ')],
]
const STEPS: readonly Column<Step>[] = [
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
  const { responses } = await ask<Batch>('POST', '/evaluate/v1/batch', { body: { requests: [body] }, query: { at } })
  const [{ booleanResponse, variantResponse }] = responses
  const said = booleanResponse ?? variantResponse ?? fail('notFound', `flag "${namespaceKey}/${flagKey}" not found`)
  if (!explain) return said
  return ask<Said>('POST', `/evaluate/v1/${booleanResponse ? 'boolean' : 'variant'}`, {
    body,
    query: { at, explain: 'true' },
  })
}

const evaluate = async (flagKey: string, options: EvaluateOptions): Promise<void> => {
  const said = await asked(await clientOf(options), flagKey, options)
  printOne(said, () => said.variantKey ?? text(said.enabled), COLUMNS, options)
  if (said.trace && options.output === 'table' && options.field === undefined)
    print(`\n${table(said.trace, STEPS, options)}`)
}

/** `rollcall evaluate`: what a flag says to an entity, now or as of any moment, and why. */
export const addEvaluate = (program: Command): void => {
  withField(withOutput(withMoment(withTarget(program.command('evaluate <flag>'))), ['table', 'json', 'name']))
    .summary('ask a flag about an entity')
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .requiredOption('-e, --entity <id>', 'the entity')
    .option('-c, --context <key=value>', 'a pair of the context; may be repeated', pair)
    .option('--explain', 'each step to the answer')
    .action(evaluate)
}
