import type { Right } from '../../access/rights.ts'
import { type Client, segment } from '../client/client.ts'
import type { WholeFlag } from '../client/lists.ts'
import { type Change, flagChanges, segmentChanges } from './differences.ts'
import type { Plan } from './plan.ts'
import { batchesOf, makeFlag, makeSegment, type Rest, sendBatches, type Write, writer } from './write.ts'

/**
 * One item of the import, written completely or not at all. The steps of a phase begin one after another to keep the
 * order of lists; their remaining requests may run concurrently. A phase begins when the one before it is complete.
 */
export type Step = {
  readonly sign: '+' | '*' | '=' | '-' | '~'
  readonly what: string
  /** Namespaces, segments, flags, then what is deleted: flags, and segments, which flags may use. */
  readonly phase: 0 | 1 | 2 | 3 | 4
  readonly path: string
  readonly place: string
  readonly needs: readonly Right[]
  readonly begin?: () => Promise<Rest | undefined>
  /** Tries the change of an existing item without a write; needs these segments. */
  readonly rehearse?: () => Promise<unknown>
  readonly uses?: readonly string[]
  /** The item is missing for a moment, because it is deleted and created again. */
  readonly isReplaced?: true
}

const WORDS: Readonly<Record<string, string>> = {
  defaultVariantId: 'default variant',
  matchType: 'match type',
  order: 'reordered',
  create: 'created',
  update: 'changed',
  delete: 'deleted',
}
const wordOf = (name: string): string => WORDS[name] ?? name
const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** Names of changed fields; those that become empty are marked as removed. */
const fieldsIn = (fields: object): readonly string[] =>
  Object.entries(fields).map(([name, value]) => `${wordOf(name)}${isEmpty(value) ? ' removed' : ''}`)

/** Changes in words: fields, then the parts by kind and number. */
const inWords = (changes: readonly Change[]): string => {
  const own = changes.flatMap(({ op, ...fields }) => (/^(flag|segment)\./.test(op) ? fieldsIn(fields) : []))
  const counts = new Map<string, number>()
  for (const { op } of changes) if (!/^(flag|segment)\./.test(op)) counts.set(op, (counts.get(op) ?? 0) + 1)
  const parts = [...counts].map(([op, count]) => {
    const [part = '', verb = ''] = op.split('.')
    return verb === 'order' ? `${part}s ${wordOf(verb)}` : `${count} ${part}${count === 1 ? '' : 's'} ${wordOf(verb)}`
  })
  return [...own, ...parts].join(', ')
}

const partsIn = ({ flag, rules, rollouts }: WholeFlag): number =>
  flag.variants.length +
  rules.reduce((sum, rule) => sum + 1 + rule.segmentKeys.length + rule.distributions.length, 0) +
  rollouts.reduce((sum, { segment }) => sum + 1 + (segment?.segmentKeys.length ?? 0), 0)

/** Step that changes an existing item as one write, or `=` if the item is as the document says. */
const changing = (
  write: Write,
  url: string,
  changes: readonly Change[],
  of: Pick<Step, 'what' | 'phase' | 'path' | 'place' | 'needs' | 'uses'> & { readonly parts: number },
): Step => {
  const { parts, what, ...step } = of
  if (changes.length === 0) return { ...step, sign: '=', what, needs: [] }
  const batches = batchesOf(changes, parts)
  const send = (changes: readonly Change[]) => write<object>(step.path, 'POST', `${url}/changes`, { changes })
  return {
    ...step,
    sign: '*',
    what: `${what}: ${inWords(changes)}${batches.length > 1 ? ` (in ${batches.length} writes)` : ''}`,
    rehearse: () => write(step.path, 'POST', `${url}/changes`, { changes: batches[0] }, { dryRun: 'true' }),
    begin: async () => async () => void (await sendBatches(batches, send)),
  }
}

const only =
  (write: Write, ...request: Parameters<Write>) =>
  async () => {
    await write(...request)
    return undefined
  }

const namespaceSteps = (write: Write, { namespace, key, present, isNamed }: Plan): readonly Step[] => {
  const { path, body } = namespace
  const step = { phase: 0, path, place: key } as const
  if (!present) {
    const begin = only(write, path, 'POST', '/api/v1/namespaces', { name: key, ...body })
    return [{ ...step, sign: '+', what: `namespace ${key}`, needs: ['namespace.create'], begin }]
  }
  const { name = present.name, description = present.description } = body
  const changed = {
    ...(name !== present.name && { name }),
    ...(description !== present.description && { description }),
  }
  if (!isNamed || Object.keys(changed).length === 0) return []
  const begin = only(write, path, 'PUT', `/api/v1/namespaces/${segment(key)}`, { name, description })
  const what = `namespace ${key}: ${fieldsIn(changed).join(', ')}`
  return [{ ...step, sign: '*', what, needs: ['namespace.update'], begin }]
}

const flagStep = (write: Write, root: string, key: string, { part, present }: Plan['flags'][number]): Step => {
  const { path, body, rules, rollouts } = part
  const url = `${root}/flags/${segment(body.key ?? '')}`
  const uses = [...rules, ...rollouts].flatMap(({ segments }) => segments)
  const step = { phase: 2, path, place: key, what: `flag ${key}/${body.key}`, uses } as const
  const hasParts = part.variants.length + rules.length + rollouts.length > 0
  const needs: readonly Right[] = ['flag.create', ...(hasParts ? (['flag.update'] as const) : [])]
  if (!present) return { ...step, sign: '+', needs, begin: () => makeFlag(write, root, part) }
  if (present.flag.type === (body.type ?? 'VARIANT_FLAG_TYPE'))
    return changing(write, url, flagChanges(part, present), {
      ...step,
      needs: ['flag.update'],
      parts: partsIn(present),
    })
  const begin = async () => {
    await write(path, 'DELETE', url)
    return makeFlag(write, root, part)
  }
  const what = `${step.what}: deleted and created again, because its type changes`
  return { ...step, sign: '*', what, needs: ['flag.delete', ...needs], begin, isReplaced: true }
}

const segmentStep = (write: Write, root: string, key: string, { part, present }: Plan['segments'][number]): Step => {
  const { path, body, constraints } = part
  const url = `${root}/segments/${segment(body.key ?? '')}`
  const step = { phase: 1, path, place: key, what: `segment ${key}/${body.key}` } as const
  if (present) {
    const of = { ...step, needs: ['segment.update'], parts: present.constraints.length } as const
    return changing(write, url, segmentChanges(part, present), of)
  }
  const needs: readonly Right[] = ['segment.create', ...(constraints.length > 0 ? (['segment.update'] as const) : [])]
  return { ...step, sign: '+', needs, begin: () => makeSegment(write, root, part) }
}

/** Steps of all plans, in the order of execution: nothing that the document holds is missing in between. */
export const stepsOf = (
  client: Client,
  plans: readonly Plan[],
  headers: Readonly<Record<string, string>>,
): readonly Step[] => {
  const write = writer(client, headers)
  const steps = plans.flatMap((plan): readonly Step[] => {
    const { key, drops, skips, segments, flags } = plan
    const { path } = plan.namespace
    const root = `/api/v1/namespaces/${segment(key)}`
    const drop = (kind: 'flag' | 'segment', phase: 3 | 4, keys: readonly string[]) =>
      keys.map((each): Step => {
        const begin = only(write, path, 'DELETE', `${root}/${kind}s/${segment(each)}`)
        const what = `${kind} ${key}/${each}`
        return { sign: '-', what, phase, path, place: key, needs: [`${kind}.delete`], begin }
      })
    const skip = (kind: string, phase: 1 | 2, keys: readonly string[]) =>
      keys.map((each): Step => ({ sign: '~', what: `${kind} ${key}/${each}`, phase, path, place: key, needs: [] }))
    return [
      ...namespaceSteps(write, plan),
      ...skip('segment', 1, skips.segments),
      ...segments.map((item) => segmentStep(write, root, key, item)),
      ...skip('flag', 2, skips.flags),
      ...flags.map((item) => flagStep(write, root, key, item)),
      ...drop('flag', 3, drops.flags),
      ...drop('segment', 4, drops.segments),
    ]
  })
  return steps.toSorted((one, other) => one.phase - other.phase)
}

/** Counts by kind: `3 created, 1 skipped, 2 deleted`. */
export const summary = (steps: readonly Step[]): string => {
  const words = { '+': 'created', '*': 'changed', '=': 'unchanged', '~': 'skipped', '-': 'deleted' } as const
  const counted = Object.entries(words).flatMap(([sign, word]) => {
    const count = steps.filter((step) => step.sign === sign).length
    return count === 0 ? [] : [`${count} ${word}`]
  })
  return counted.length === 0 ? 'nothing to do' : counted.join(', ')
}
