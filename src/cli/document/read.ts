import { didYouMean } from '../../config/did-you-mean.ts'
import type { constraintBody } from '../../contract/flags/constraint.ts'
import { membersOf as namesOf } from './members.ts'
import type {
  Document,
  DocumentPart,
  FlagPart,
  GivenTo,
  NamespacePart,
  RolloutPart,
  RulePart,
  SegmentPart,
  Share,
  VariantPart,
} from './parts.ts'
import { type Members, type Problems, partsOf, type Reader, readerOf } from './reader.ts'
import { placeOf, type Source, sourcesIn, wrong } from './source.ts'
import { isMapping, present, written } from './value.ts'

/** Versions that are read: 1.0 to 1.6, of which 1.5 and 1.6 mean the same as 1.4. */
const VERSION = /^v?1(?:\.[0-6])?$/

/** Location of a part and of its members; that of an absent member is the part with the name of the member. */
const located = (source: Source, members: Members) => ({
  path: placeOf(source),
  at: (member: string): string => {
    const [name = '', ...rest] = member.split(/(?=[.[])/)
    const given = members[name]
    const place = given ? placeOf(given) : member === '' ? placeOf(source) : `${placeOf(source)}.${name}`
    return place + rest.join('')
  },
})

const namespacePart = (source: Source | undefined, whole: Source, on: Reader): NamespacePart => {
  const given = present(source)
  const members = given && isMapping(given) ? on.members(given, namesOf('namespace')) : undefined
  if (!members) {
    const key = on.text(given) || 'default'
    const place = located(given ?? whole, {})
    return { ...place, at: () => place.path, body: { key } }
  }
  const key = on.text(members['key']) || 'default'
  const [name, description] = [on.text(members['name']), on.text(members['description'])]
  const body = { key, ...(name && { name }), ...(description !== undefined && { description }) }
  return { ...located(given!, members), body }
}

/** Segments given by one key as text, by `key`, or by `keys` with `operator`. */
const bySegments = (source: Source, on: Reader) => {
  if (!isMapping(source)) return { segments: [on.text(source) ?? ''], segmentOperator: undefined, value: undefined }
  const { key, keys, operator, value } = on.members(source, namesOf('rolloutSegment')) ?? {}
  const several = on.items(keys).map((key) => on.text(key) ?? '')
  const one = on.text(key)
  if (one !== undefined && several.length > 0)
    on.attempt(() => wrong(source, 'must have either key or keys.'), undefined)
  return {
    segments: one === undefined ? several : [one],
    segmentOperator: on.text(operator),
    value: present(value) && on.truth(value),
  }
}

const sharePart = (source: Source, on: Reader): Share | undefined => {
  const members = on.members(source, namesOf('distribution'))
  if (!members) return undefined
  const { variant, rollout } = members
  return { ...located(source, members), variant: on.text(variant) ?? '', rollout: on.amount(rollout) }
}

const rulePart = (source: Source, on: Reader): RulePart | undefined => {
  const members = on.members(source, namesOf('rule'))
  if (!members) return undefined
  const { segment, rank, distributions } = members
  const given = present(segment)
  const { segments, segmentOperator, value } = given ? bySegments(given, on) : { segments: [] }
  if (value !== undefined) on.unknown({ ...given!, path: `${given!.path}.value` })
  const shares = partsOf(on, distributions, sharePart)
  const body = { segmentKeys: segments, segmentOperator }
  return { ...located(source, members), segments, rank: on.amount(rank), shares, body }
}

const rolloutPart = (source: Source, on: Reader): RolloutPart | undefined => {
  const members = on.members(source, namesOf('rollout'))
  if (!members) return undefined
  const { description, segment, threshold } = members
  const [by, share] = [present(segment), present(threshold)]
  const named = by && bySegments(by, on)
  const { percentage, value } = (share && on.members(share, namesOf('rolloutThreshold'))) ?? {}
  const body = {
    description: on.text(description),
    segment: named && {
      segmentKeys: named.segments,
      segmentOperator: named.segmentOperator,
      value: named.value,
    },
    threshold: share && { percentage: on.amount(percentage), value: on.truth(value) },
  }
  return { ...located(source, members), segments: named?.segments ?? [], body }
}

const variantPart = (source: Source, on: Reader): VariantPart | undefined => {
  const members = on.members(source, ['default', ...namesOf('variant')])
  if (!members) return undefined
  const { key, name, description, attachment, ...rest } = members
  const given = written(attachment)
  const body = {
    key: on.text(key),
    name: on.text(name),
    description: on.text(description),
    attachment: given && on.json(given),
  }
  return { ...located(source, members), body, byDefault: on.truth(rest.default) }
}

const flagPart = (source: Source, on: Reader): FlagPart | undefined => {
  const members = on.members(source, [...namesOf('flag'), 'rules', 'rollouts'])
  if (!members) return undefined
  const { key, name, type, description, enabled, metadata, variants, rules, rollouts } = members
  return {
    ...located(source, members),
    body: {
      key: on.text(key),
      name: on.text(name),
      type: on.text(type),
      description: on.text(description),
      enabled: on.truth(enabled),
      metadata: on.plain(metadata),
    },
    variants: partsOf(on, variants, variantPart),
    rules: partsOf(on, rules, rulePart),
    rollouts: partsOf(on, rollouts, rolloutPart),
  }
}

type ConstraintPart = DocumentPart<GivenTo<typeof constraintBody>>

const constraintPart = (source: Source, on: Reader): ConstraintPart | undefined => {
  const members = on.members(source, namesOf('constraint'))
  if (!members) return undefined
  const { type, property, operator, value, description } = members
  const kind = on.text(type)
  const body = {
    type: kind,
    property: on.text(property),
    operator: on.text(operator),
    value: on.valueOrList(value, kind === 'NUMBER_COMPARISON_TYPE'),
    description: on.text(description),
  }
  return { ...located(source, members), body }
}

const segmentPart = (source: Source, on: Reader): SegmentPart | undefined => {
  const members = on.members(source, namesOf('segment'))
  if (!members) return undefined
  const { key, name, description, match_type, constraints } = members
  const body = {
    key: on.text(key),
    name: on.text(name),
    description: on.text(description),
    matchType: on.text(match_type),
  }
  return { ...located(source, members), body, constraints: partsOf(on, constraints, constraintPart) }
}

const TOP = ['version', 'namespace', 'flags', 'segments'] as const

/**
 * Refuses a member at the top of a document, because its content would be lost. Names of parts that only anchors use
 * begin with `x-` or `.`.
 */
const unread = (member: Source, name: string): void => {
  if (/^(?:x-|\.)/.test(name)) return
  wrong(member, `is not read. A document has ${TOP.join(', ')}${didYouMean(name, TOP)}.`)
}

/** Reads the documents of a file in any format of api.md §13. Reports all parts that cannot be read, with their place. */
export const documentsIn = (file: string, content: string, problems: Problems): readonly Document[] => {
  const on = readerOf(problems)
  return on
    .attempt(() => sourcesIn(file, content), [])
    .flatMap((source): readonly Document[] => {
      const members = on.members(source, TOP, unread)
      if (!members) return []
      const { version, namespace, flags, segments } = members
      const given = on.text(version) ?? '1.4'
      if (!VERSION.test(given))
        on.attempt(() => wrong(version!, `unsupported version: ${given}; allowed: 1.0 to 1.6`), undefined)
      return [
        {
          namespace: namespacePart(namespace, source, on),
          flags: partsOf(on, flags, flagPart),
          segments: partsOf(on, segments, segmentPart),
        },
      ]
    })
}
