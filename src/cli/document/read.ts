import { didYouMean } from '../../config/did-you-mean.ts'
import type { constraintBody } from '../../contract/flags/constraint.ts'
import { parseExactly } from '../../exact-json.ts'
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
import { type Source, sourcesIn, wrong } from './source.ts'
import { isList, isMapping, items, json, jsonSource, members as membersOf, present, text, written } from './value.ts'

/** Called for each field that no version of the document defines. */
type Unknown = (path: string, name: string) => void

/** Versions that are read: 1.0 to 1.6, of which 1.5 and 1.6 mean the same as 1.4. */
const VERSION = /^v?1(?:\.[0-6])?$/

const plain = (source: Source | undefined): unknown => (present(source) ? parseExactly(json(source!)) : undefined)

const truth = (source: Source | undefined): boolean => {
  const value = plain(source) ?? false
  return typeof value === 'boolean' ? value : wrong(source!.path, 'must be true or false.')
}

/** A number, or a text that the validation rules of the service will reject. */
const amount = (source: Source | undefined): unknown => {
  const value = plain(source)
  return value === undefined || ['number', 'bigint', 'string'].includes(typeof value)
    ? value
    : wrong(source!.path, 'must be a number.')
}

const namespacePart = (source: Source | undefined, path: string, unknown: Unknown): NamespacePart => {
  const given = present(source)
  if (!given || !isMapping(given)) {
    const key = text(given) || 'default'
    return { path, body: { key, name: key, description: '' }, stated: false }
  }
  const { key: named, name, description } = membersOf(given, namesOf('namespace'), unknown)
  const key = text(named) || 'default'
  const body = { key, name: text(name) || key, description: text(description) ?? '' }
  return { path: given.path, body, stated: present(name) !== undefined }
}

/** Segments given by one key as text, by `key`, or by `keys` with `operator`. */
const bySegments = (source: Source, unknown: Unknown) => {
  if (!isMapping(source)) return { segments: [text(source) ?? ''], segmentOperator: undefined, value: undefined }
  const { key, keys, operator, value } = membersOf(source, namesOf('rolloutSegment'), unknown)
  const several = items(keys).map((key) => text(key) ?? '')
  const one = text(key)
  if (one !== undefined && several.length > 0) wrong(source.path, 'must have either key or keys.')
  return {
    segments: one === undefined ? several : [one],
    segmentOperator: text(operator),
    value: present(value) && truth(value),
  }
}

const rulePart = (source: Source, unknown: Unknown): RulePart => {
  const { segment, rank, distributions } = membersOf(source, namesOf('rule'), unknown)
  const given = present(segment)
  const { segments, segmentOperator, value } = given ? bySegments(given, unknown) : { segments: [] }
  if (value !== undefined) unknown(`${given!.path}.value`, 'value')
  const shares = items(distributions).map((item): Share => {
    const { variant, rollout } = membersOf(item, namesOf('distribution'), unknown)
    return { path: item.path, variant: text(variant) ?? '', rollout: amount(rollout) }
  })
  return { path: source.path, segments, rank: amount(rank), shares, body: { segmentKeys: segments, segmentOperator } }
}

const rolloutPart = (source: Source, unknown: Unknown): RolloutPart => {
  const { description, segment, threshold } = membersOf(source, namesOf('rollout'), unknown)
  const [by, share] = [present(segment), present(threshold)]
  const named = by && bySegments(by, unknown)
  const { percentage, value } = share ? membersOf(share, namesOf('rolloutThreshold'), unknown) : {}
  const body = {
    description: text(description),
    segment: named && {
      segmentKeys: named.segments,
      segmentOperator: named.segmentOperator,
      value: named.value,
    },
    threshold: share && { percentage: amount(percentage), value: truth(value) },
  }
  return { path: source.path, segments: named?.segments ?? [], body }
}

const variantPart = (source: Source, unknown: Unknown): VariantPart => {
  const { key, name, description, attachment, ...rest } = membersOf(source, ['default', ...namesOf('variant')], unknown)
  const given = written(attachment)
  const body = {
    key: text(key),
    name: text(name),
    description: text(description),
    attachment: given && jsonSource(given),
  }
  return { path: source.path, body, byDefault: truth(rest.default) }
}

const flagPart = (source: Source, unknown: Unknown): FlagPart => {
  const { key, name, type, description, enabled, metadata, variants, rules, rollouts } = membersOf(
    source,
    [...namesOf('flag'), 'rules', 'rollouts'],
    unknown,
  )
  return {
    path: source.path,
    body: {
      key: text(key),
      name: text(name),
      type: text(type),
      description: text(description),
      enabled: truth(enabled),
      metadata: plain(metadata),
    },
    variants: items(variants).map((item) => variantPart(item, unknown)),
    rules: items(rules).map((item) => rulePart(item, unknown)),
    rollouts: items(rollouts).map((item) => rolloutPart(item, unknown)),
  }
}

/** Value of a constraint. A YAML list becomes JSON: of texts, or of numbers for a number constraint. */
const valueOf = (source: Source | undefined, type: string | undefined): string | undefined => {
  const given = present(source)
  if (!given || !isList(given)) return text(given)
  if (type === 'NUMBER_COMPARISON_TYPE') return json(given)
  return JSON.stringify(items(given).map((item) => text(item) ?? ''))
}

const segmentPart = (source: Source, unknown: Unknown): SegmentPart => {
  const { constraints, ...given } = membersOf(source, namesOf('segment'), unknown)
  const body = {
    key: text(given.key),
    name: text(given.name),
    description: text(given.description),
    matchType: text(given.match_type),
  }
  const parts = items(constraints).map((item): DocumentPart<GivenTo<typeof constraintBody>> => {
    const { type, property, operator, value, description } = membersOf(item, namesOf('constraint'), unknown)
    const body = {
      type: text(type),
      property: text(property),
      operator: text(operator),
      value: valueOf(value, text(type)),
      description: text(description),
    }
    return { path: item.path, body }
  })
  return { path: source.path, body, constraints: parts }
}

const TOP = ['version', 'namespace', 'flags', 'segments'] as const

/** Refuses a member at the top of a document, because its content would get lost. Names for anchors begin with `x-`. */
const unread: Unknown = (path, name) => {
  if (!/^(?:x-|\.)/.test(name)) wrong(path, `is not read. A document has ${TOP.join(', ')}${didYouMean(name, TOP)}.`)
}

/** Reads the documents of a text in any format of api.md §13. Fails with the location of the first invalid part. */
export const documentsIn = (content: string, unknown: Unknown): readonly Document[] =>
  sourcesIn(content).map((source) => {
    const { version, namespace, flags, segments } = membersOf(source, TOP, unread)
    const given = text(version) ?? '1.4'
    if (!VERSION.test(given)) wrong(source.path, `unsupported version: ${given}`)
    return {
      namespace: namespacePart(namespace, source.path, unknown),
      flags: items(flags).map((item) => flagPart(item, unknown)),
      segments: items(segments).map((item) => segmentPart(item, unknown)),
    }
  })
