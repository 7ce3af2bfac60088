// Reference implementation of api.md §8.2–8.6, step by step and slow. It shares only types with the engine.
import type { BooleanAnswer, Failure, VariantAnswer } from '../../src/evaluation/evaluate.ts'
import type { ConstraintInput, FlagInput, SegmentInput } from '../../src/evaluation/flag.ts'
import type { FailedConstraint, TraceStep } from '../../src/evaluation/trace.ts'
import { referenceChecksum, referenceDatetime, referenceNumber } from './reference-values.ts'

type Entity = { readonly entityId: string; readonly context: ReadonlyMap<string, string> }
type Segments = readonly SegmentInput[]

class UnknownType extends Error {}

const trim = (text: string): string => text.replace(/^\p{White_Space}+/u, '').replace(/\p{White_Space}+$/u, '')

/** Compares the part at one position, by code points. */
const containsAt = (text: string, part: string, at: number): boolean => {
  const [points, wanted] = [Array.from(text), Array.from(part)]
  return at >= 0 && wanted.every((char, n) => points[at + n] === char)
}
const starts = (text: string, part: string): boolean => containsAt(text, part, 0)
const ends = (text: string, part: string): boolean =>
  containsAt(text, part, Array.from(text).length - Array.from(part).length)
const contains = (text: string, part: string): boolean => {
  for (let at = 0; at <= Array.from(text).length; at++) if (containsAt(text, part, at)) return true
  return false
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
const list = (text: string, type: 'string' | 'number'): unknown[] | undefined => {
  const parsed = json(text)
  if (parsed === null) return []
  if (!Array.isArray(parsed)) return undefined
  const items: unknown[] = []
  for (const item of parsed as unknown[]) {
    if (item === null) items.push(type === 'string' ? '' : 0)
    else if (typeof item === type && item !== Infinity && item !== -Infinity) items.push(item)
    else return undefined
  }
  return items
}

const ofText = (operator: string, v: string, c: string): boolean => {
  if (operator === 'empty') return trim(v) === ''
  if (operator === 'notempty') return trim(v) !== ''
  if (v === '') return false
  if (operator === 'eq') return v === c
  if (operator === 'neq') return v !== c
  if (operator === 'prefix') return starts(trim(v), c)
  if (operator === 'suffix') return ends(trim(v), c)
  if (operator === 'contains') return contains(v, c)
  if (operator === 'notcontains') return !contains(v, c)
  const items = list(c, 'string')
  if (operator === 'isoneof') return items !== undefined && items.includes(v)
  if (operator === 'isnotoneof') return items !== undefined && !items.includes(v)
  return false
}

const ofOrder = <T>(operator: string, v: T, c: T): boolean => {
  if (operator === 'eq') return v === c
  if (operator === 'neq') return v !== c
  if (operator === 'lt') return v < c
  if (operator === 'lte') return v <= c
  if (operator === 'gt') return v > c
  if (operator === 'gte') return v >= c
  return false
}

const ofNumber = (operator: string, v: string, c: string): boolean => {
  if (operator === 'present') return trim(v) !== ''
  if (operator === 'notpresent') return trim(v) === ''
  const number = referenceNumber(v)
  if (number === undefined) return false
  if (operator === 'isoneof' || operator === 'isnotoneof') {
    const items = list(c, 'number')
    if (items === undefined) return false
    return items.some((item) => item === number) === (operator === 'isoneof')
  }
  const other = referenceNumber(c)
  return other !== undefined && ofOrder(operator, number, other)
}

const ofBoolean = (operator: string, v: string): boolean => {
  if (operator === 'present') return trim(v) !== ''
  if (operator === 'notpresent') return trim(v) === ''
  if (operator === 'true') return '1 t T TRUE true True'.split(' ').includes(v)
  if (operator === 'false') return '0 f F FALSE false False'.split(' ').includes(v)
  return false
}

const ofDatetime = (operator: string, v: string, c: string): boolean => {
  if (operator === 'present') return trim(v) !== ''
  if (operator === 'notpresent') return trim(v) === ''
  const [instant, other] = [referenceDatetime(v), referenceDatetime(c)]
  return instant !== undefined && other !== undefined && ofOrder(operator, instant, other)
}

const constraintHolds = (
  { type, property, operator, value }: ConstraintInput,
  { entityId, context }: Entity,
): boolean => {
  const v = context.get(property) ?? ''
  if (type === 'string') return ofText(operator, v, value)
  if (type === 'entityId') return ofText(operator, entityId, value)
  if (type === 'number') return ofNumber(operator, v, value)
  if (type === 'boolean') return ofBoolean(operator, v)
  if (type === 'datetime') return ofDatetime(operator, v, value)
  throw new UnknownType()
}

const segmentMatches = (segment: SegmentInput, entity: Entity): boolean => {
  const results = segment.constraints.map((constraint) => constraintHolds(constraint, entity))
  if (results.length === 0) return true
  return segment.matchType === 'all' ? results.every(Boolean) : results.some(Boolean)
}

type Asked = {
  readonly matched: boolean
  readonly said: Pick<TraceStep, 'segmentKeys' | 'failed'> & Partial<TraceStep>
}

const ask = (keys: readonly string[], operator: 'or' | 'and', segments: Segments, entity: Entity): Asked => {
  const segmentKeys: string[] = []
  const failed: FailedConstraint[] = []
  for (const key of keys) {
    const segment = segments.find((known) => known.key === key)
    if (!segment) continue
    if (segmentMatches(segment, entity)) segmentKeys.push(key)
    for (const constraint of segment.constraints)
      if (!constraintHolds(constraint, entity)) failed.push({ segmentKey: key, constraint })
  }
  const matched = operator === 'or' ? segmentKeys.length > 0 : segmentKeys.length === keys.length
  const segmentOperator = keys.length > 1 ? operator : 'or'
  return { matched, said: { segmentKeys, failed, askedSegmentKeys: keys, segmentOperator } }
}

type Traced<A> = { readonly answer: A; readonly trace: readonly TraceStep[] }

const unlessUnknown = <A>(evaluate: () => Traced<A>): Traced<A> | Failure => {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof UnknownType) return { error: 'unknown constraint type' }
    throw error
  }
}

const inRankOrder = <T extends { readonly rank: number }>(parts: readonly T[]): T[] =>
  [...parts].sort((a, b) => a.rank - b.rank)

/** api.md §8.3. */
export const referenceBoolean = (
  flag: FlagInput,
  segments: Segments,
  entity: Entity,
): Traced<BooleanAnswer> | Failure =>
  unlessUnknown<BooleanAnswer>(() => {
    const trace: TraceStep[] = []
    let usedEntity = false
    for (const rollout of inRankOrder(flag.rollouts)) {
      const { id, rank, type } = rollout
      if (type === 'threshold') {
        usedEntity = true
        const bucket = referenceChecksum(entity.entityId + flag.key) % 100
        const matched = Math.fround(bucket) < Math.fround(rollout.percentage)
        const step = { kind: 'rollout', id, rank, matched, segmentKeys: [], failed: [], value: rollout.value } as const
        trace.push({ ...step, type, bucket, threshold: rollout.percentage })
        if (matched) return { answer: { enabled: rollout.value, reason: 'match', segmentKeys: [], usedEntity }, trace }
      }
      if (type === 'segment') {
        const { matched, said } = ask(rollout.segments, rollout.operator, segments, entity)
        const { segmentKeys } = said
        trace.push({ kind: 'rollout', id, rank, matched, ...said, type, value: rollout.value })
        if (matched) return { answer: { enabled: rollout.value, reason: 'match', segmentKeys, usedEntity }, trace }
      }
    }
    return { answer: { enabled: flag.enabled, reason: 'default', segmentKeys: [], usedEntity }, trace }
  })

/** api.md §8.2. */
export const referenceVariant = (
  flag: FlagInput,
  segments: Segments,
  entity: Entity,
): Traced<VariantAnswer> | Failure =>
  unlessUnknown<VariantAnswer>(() => {
    const trace: TraceStep[] = []
    let answer: VariantAnswer = {
      match: false,
      reason: 'unknown',
      variantKey: '',
      variantAttachment: '',
      segmentKeys: [],
    }
    const variantOf = (id: string | undefined) => flag.variants.find((variant) => variant.id === id)
    const start = variantOf(flag.defaultVariantId)
    if (start) answer = { ...answer, reason: 'default', variantKey: start.key, variantAttachment: start.attachment }
    if (!flag.enabled) return { answer: { ...answer, reason: 'disabled' }, trace }
    for (const rule of inRankOrder(flag.rules)) {
      const { id, rank } = rule
      const { matched, said } = ask(rule.segments, rule.operator, segments, entity)
      const { segmentKeys } = said
      const taken = rule.distributions.filter(({ rollout, variantId }) => rollout > 0 && variantOf(variantId))
      const distributions = taken.map(({ rollout, variantId }) => ({ variantKey: variantOf(variantId)!.key, rollout }))
      const step: TraceStep = { kind: 'rule', id, rank, matched, ...said, distributions }
      if (!matched) {
        trace.push(step)
        continue
      }
      answer = { ...answer, segmentKeys }
      if (taken.length === 0) {
        trace.push({ ...step, cumulative: [] })
        return { answer: { ...answer, match: true, reason: 'match' }, trace }
      }
      const bucket = referenceChecksum(flag.key + entity.entityId) % 1000
      const cumulative: number[] = []
      for (const { rollout } of taken) {
        cumulative.push((cumulative.at(-1) ?? 0) + Math.trunc(Math.fround(Math.fround(rollout) * 10)))
      }
      const index = cumulative.findIndex((sum) => sum >= bucket + 1)
      const variant = index === -1 ? undefined : variantOf(taken[index]!.variantId)!
      trace.push({ ...step, bucket, cumulative, ...(variant ? { variantKey: variant.key } : {}) })
      if (!variant) return { answer, trace }
      return {
        answer: {
          match: true,
          reason: 'match',
          segmentKeys,
          variantKey: variant.key,
          variantAttachment: variant.attachment,
        },
        trace,
      }
    }
    return { answer, trace }
  })
