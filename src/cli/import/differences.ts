import { isDeepStrictEqual } from 'node:util'
import { fail } from '../../base/failure.ts'
import { type Flag, newFlag } from '../../contract/flags/flag.ts'
import { newRollout, rolloutPart } from '../../contract/flags/rollout.ts'
import { newRule, segmentsGiven, share } from '../../contract/flags/rule.ts'
import type { Segment } from '../../contract/flags/segment.ts'
import { constraintBody } from '../../contract/flags/segment.ts'
import { variantBody } from '../../contract/flags/variant.ts'
import type { WholeFlag } from '../client/lists.ts'
import type { FlagPart, SegmentPart } from '../document/read.ts'
import { rankOf } from './problems.ts'

/** One member of a request for several changes (api.md §7.9). */
export type Change = { readonly op: string; readonly [member: string]: unknown }

type Body = Readonly<Record<string, unknown>>
/** Part that exists, and part of the document. Parts with the same text are equal. */
type Present = { readonly id: string; readonly text: string; readonly kind?: string }
type Wanted = { readonly text: string; readonly kind?: string; readonly body: object }

const bodyOf = (resource: object): Body => resource as Body

/** State of a flag, and of a segment: their fields in any form that a request has, and their parts. */
type FlagState = Omit<WholeFlag, 'flag'> & { readonly flag: Pick<Flag, 'variants' | 'defaultVariant'> }
type SegmentState = Pick<Segment, 'constraints'>

/** Index of the existing part for each part of the document: an equal one, else the first other one of its kind. */
const pairsOf = (present: readonly Present[], wanted: readonly Wanted[]): readonly (number | undefined)[] => {
  const free = new Set(present.keys())
  const take = (fits: (one: Present) => boolean): number | undefined => {
    for (const n of free) {
      if (!fits(present[n]!)) continue
      free.delete(n)
      return n
    }
    return undefined
  }
  const equal = wanted.map(({ text }) => take((one) => one.text === text))
  return wanted.map(({ kind }, n) => equal[n] ?? take((one) => one.kind === kind))
}

/** Changes from the existing parts to those of the document. Parts that stay keep their ids. */
const partChanges = (
  what: 'rule' | 'rollout' | 'constraint',
  present: readonly Present[],
  wanted: readonly Wanted[],
  isRenumbered = false,
): readonly Change[] => {
  const pairs = pairsOf(present, wanted)
  const refs = wanted.map((_, n) => `${what}-${n}`)
  const [stay, gone] = [new Set(pairs), present.filter((_, n) => !pairs.includes(n))]
  const ids = pairs.map((pair, n) => (pair === undefined ? refs[n]! : present[pair]!.id))
  const made = wanted.flatMap(({ text, body }, n): readonly Change[] => {
    const found = pairs[n] === undefined ? undefined : present[pairs[n]]!
    if (!found) return [{ op: `${what}.create`, ref: refs[n], ...body }]
    return found.text === text ? [] : [{ op: `${what}.update`, id: found.id, ...body }]
  })
  const after = [
    ...present.filter((_, n) => stay.has(n)).map(({ id }) => id),
    ...refs.filter((_, n) => pairs[n] === undefined),
  ]
  const isOrdered = what === 'constraint' || ids.length < 2 || (!isRenumbered && isDeepStrictEqual(after, ids))
  return [
    ...gone.map(({ id }) => ({ op: `${what}.delete`, id })),
    ...made,
    ...(isOrdered ? [] : [{ op: `${what}.order`, ids }]),
  ]
}

const segmentsText = (body: Body) => {
  const { segments, operator } = segmentsGiven(newRule.read(body))
  return [segments, segments.length > 1 ? operator : '']
}
const ruleText = (body: Body, shares: readonly (readonly [variant: string | undefined, rollout: unknown])[]) =>
  JSON.stringify([
    segmentsText(body),
    shares.map(([variant, rollout]) => [variant, Math.fround(share.read(rollout, 'rollout'))]),
  ])
const rolloutText = (body: Body) => {
  const read = newRollout.read(body)
  const part = rolloutPart(read, () => fail('failed', 'The service sent a rollout without segment and threshold.'))
  if (part.type === 'threshold') return JSON.stringify([read.description, part.percentage, part.value])
  return JSON.stringify([read.description, part.segments, part.segments.length > 1 ? part.operator : '', part.value])
}
const OR = 'OR_SEGMENT_OPERATOR'

const ruleChanges = (part: FlagPart, present: FlagState, ids: ReadonlyMap<string | undefined, string>) => {
  const keys = new Map(present.flag.variants.map(({ id, key }) => [id, key]))
  const ranked = part.rules
    .map((rule, n) => ({ rule, rank: Number(rankOf(rule, n)) }))
    .toSorted((one, other) => one.rank - other.rank)
  const isPlain = (ranks: readonly number[]) => ranks.every((rank, n) => rank === n + 1)
  const wanted = ranked.map(({ rule: { body, shares } }) => ({
    text: ruleText(
      bodyOf(body),
      shares.map(({ variant, rollout }) => [variant, rollout]),
    ),
    body: {
      segmentKeys: body.segmentKeys,
      segmentOperator: body.segmentOperator ?? OR,
      distributions: shares.map(({ variant, rollout }) => ({ variantId: ids.get(variant), rollout })),
    },
  }))
  const existing = present.rules.map((rule) => ({
    id: rule.id,
    text: ruleText(
      bodyOf(rule),
      rule.distributions.map(({ variantId, rollout }) => [keys.get(variantId), rollout]),
    ),
  }))
  const isRenumbered = isPlain(ranked.map(({ rank }) => rank)) && !isPlain(present.rules.map(({ rank }) => rank))
  return partChanges('rule', existing, wanted, isRenumbered)
}

const rolloutChanges = ({ rollouts }: FlagPart, present: FlagState) => {
  const kindOf = ({ segment }: { readonly segment?: unknown }) => (segment === undefined ? 'threshold' : 'segment')
  const wanted = rollouts.map(({ body }) => ({
    text: rolloutText(bodyOf(body)),
    kind: kindOf(body),
    body: {
      description: body.description ?? '',
      segment: body.segment && {
        segmentKeys: body.segment.segmentKeys,
        segmentOperator: body.segment.segmentOperator ?? OR,
        value: body.segment.value ?? false,
      },
      threshold: body.threshold && {
        percentage: body.threshold.percentage ?? 0,
        value: body.threshold.value ?? false,
      },
    },
  }))
  const existing = present.rollouts.map((each) => ({
    id: each.id,
    text: rolloutText({ ...each, rank: undefined }),
    kind: kindOf(each),
  }))
  return partChanges('rollout', existing, wanted)
}

const changedFields = (op: string, from: object, to: object): readonly Change[] => {
  const before = bodyOf(from)
  const fields = Object.entries(to).filter(([name, value]) => !isDeepStrictEqual(value, before[name]))
  return fields.length === 0 ? [] : [{ op, ...Object.fromEntries(fields) }]
}

/** Changes that give an existing flag the fields and parts of the document; none if it has them. The type stays. */
export const flagChanges = (part: FlagPart, present: FlagState): readonly Change[] => {
  const { variants, defaultVariant } = present.flag
  const byKey = new Map(variants.map((variant) => [variant.key, variant]))
  const ids = new Map(part.variants.map(({ body }, n) => [body.key, byKey.get(body.key!)?.id ?? `variant-${n}`]))
  const made = part.variants.flatMap(
    ({ body: { key, name = '', description = '', attachment = '' } }, n): readonly Change[] => {
      const [found, body] = [byKey.get(key!), { key, name, description, attachment }]
      if (!found) return [{ op: 'variant.create', ref: `variant-${n}`, ...body }]
      const isSame = isDeepStrictEqual(variantBody.read(bodyOf(found)), variantBody.read(body))
      return isSame ? [] : [{ op: 'variant.update', id: found.id, ...body }]
    },
  )
  const fieldsOf = (body: object) => {
    const { name, description, enabled, metadata = {} } = newFlag.read(bodyOf(body))
    return { name, description, enabled, metadata }
  }
  const byDefault = part.variants.find((variant) => variant.byDefault)?.body.key
  const own = changedFields(
    'flag.update',
    { ...fieldsOf(present.flag), defaultVariantId: defaultVariant?.id ?? '' },
    { ...fieldsOf(part.body), defaultVariantId: (byDefault !== undefined && ids.get(byDefault)) || '' },
  )
  const gone = variants.filter(({ key }) => !ids.has(key)).map(({ id }) => ({ op: 'variant.delete', id }))
  return [...made, ...own, ...ruleChanges(part, present, ids), ...rolloutChanges(part, present), ...gone]
}

/** Changes that give an existing segment the fields and constraints of the document; none if it has them. */
export const segmentChanges = ({ body, constraints }: SegmentPart, present: SegmentState): readonly Change[] => {
  const fieldsOf = ({ name, description = '', matchType = 'ALL_MATCH_TYPE' }: Body) => ({
    name,
    description,
    matchType,
  })
  const textOf = (constraint: object) => JSON.stringify(constraintBody.read(bodyOf(constraint)))
  const wanted = constraints.map(({ body }) => ({
    text: textOf(body),
    body: { ...body, value: body.value ?? '', description: body.description ?? '' },
  }))
  const existing = present.constraints.map((each) => ({ id: each.id, text: textOf(each) }))
  return [
    ...changedFields('segment.update', fieldsOf(bodyOf(present)), fieldsOf(bodyOf(body))),
    ...partChanges('constraint', existing, wanted),
  ]
}
