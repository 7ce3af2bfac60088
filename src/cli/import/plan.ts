import { eachTogether } from '../../base/concurrency.ts'
import { isFailure } from '../../base/failure.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Segment } from '../../contract/flags/segment.ts'
import type { Namespace } from '../../contract/resource.ts'
import { type Client, segment } from '../client/client.ts'
import { all, type WholeFlag, wholeFlag } from '../client/lists.ts'
import type { Document, FlagPart, NamespacePart, SegmentPart } from '../document/read.ts'
import { flagProblems, notUnique, type Problem, problemsOf, segmentProblems, twice } from './problems.ts'

type PlanOptions = { readonly skipExisting: boolean; readonly drop: boolean }
type Keys = { readonly flags: readonly string[]; readonly segments: readonly string[] }
/** Item of the document. `present`: its state in the service; undefined if it is new. */
type Item<P, T> = { readonly part: P; readonly present: T | undefined }

/** Difference between one namespace of the document and of the service. */
export type Plan = {
  readonly namespace: NamespacePart
  readonly key: string
  readonly present: Namespace | undefined
  readonly isNamed: boolean
  readonly drops: Keys
  readonly skips: Keys
  readonly segments: readonly Item<SegmentPart, Segment>[]
  readonly flags: readonly Item<FlagPart, WholeFlag>[]
  /** Items of the namespace now. `bytes` and `growth` of their texts, after all writes and before any deletion. */
  readonly counts: {
    readonly flags: number
    readonly segments: number
    readonly bytes: number
    readonly growth: number
  }
}

const TEXTS: ReadonlySet<string> = new Set(['description', 'attachment', 'value', 'property'])

/** Bytes of the long texts of an item without blanks: the service counts at least these for `bytes_per_namespace`. */
const bytesIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.entries(value).reduce(
        (sum, [name, inner]) =>
          sum +
          (typeof inner === 'string' && TEXTS.has(name)
            ? Buffer.byteLength(inner.replaceAll(/\s+/g, ''))
            : name === 'metadata'
              ? Buffer.byteLength(JSON.stringify(inner) ?? '')
              : bytesIn(inner)),
        0,
      )

type Group = { namespace: NamespacePart; readonly flags: FlagPart[]; readonly segments: SegmentPart[] }

/**
 * Groups the documents by namespace. A namespace may occur in several documents; the last name and the last description
 * count.
 */
const grouped = (documents: readonly Document[]): ReadonlyMap<string, Group> => {
  const groups = new Map<string, Group>()
  for (const { namespace, flags, segments } of documents) {
    const { key } = namespace.body
    const group = groups.get(key) ?? { namespace, flags: [], segments: [] }
    const body = { ...group.namespace.body, ...namespace.body }
    if (Object.keys(namespace.body).length > 1) group.namespace = namespace
    group.namespace = { ...group.namespace, body }
    for (const flag of flags) group.flags.push(flag)
    for (const segment of segments) group.segments.push(segment)
    groups.set(key, group)
  }
  return groups
}

/** Content of a namespace. `whole` fails if the service cannot read all of it. */
const existing = async (client: Client, key: string, whole: boolean) => {
  const path = `/api/v1/namespaces/${segment(key)}`
  try {
    const namespace = await client.ask<Namespace>('GET', path)
    const flags = await all<Flag>(client, `${path}/flags`, 'flags', { whole })
    return { namespace, flags, segments: await all<Segment>(client, `${path}/segments`, 'segments', { whole }) }
  } catch (error) {
    if (isFailure(error) && error.kind === 'notFound') return { flags: [], segments: [] }
    throw error
  }
}

const namespaceProblems = ({ at, body }: NamespacePart) =>
  problemsOf('namespace', at, { name: body.key, description: '', ...body })

/** Problems of the documents that show without the service. */
export const problemsWithin = (documents: readonly Document[]): readonly Problem[] =>
  [...grouped(documents)].flatMap(([key, { namespace, flags, segments }]) => [
    ...namespaceProblems(namespace),
    ...contentProblems(key, flags, segments, undefined),
  ])

const contentProblems = (
  key: string,
  flags: readonly FlagPart[],
  segments: readonly SegmentPart[],
  known: ReadonlySet<string> | undefined,
): readonly Problem[] => [
  ...twice(segments, (segment) => `segment "${key}/${segment}" is not unique`),
  ...segments.flatMap(segmentProblems),
  ...twice(flags, (flag) => `flag "${key}/${flag}" is not unique`),
  ...flags.flatMap((flag) => flagProblems(flag, key, known)),
]

const byKey = <T extends { readonly key: string }>(items: readonly T[]) =>
  new Map(items.map((item) => [item.key, item]))
const itemsOf = <P extends FlagPart | SegmentPart, T>(parts: readonly P[], present: ReadonlyMap<string, T>) =>
  parts.map((part): Item<P, T> => ({ part, present: present.get(part.body.key ?? '') }))
const keysOf = (items: readonly Item<FlagPart | SegmentPart, unknown>[]) => items.map(({ part }) => part.body.key ?? '')
const isNew = ({ present }: Item<unknown, unknown>) => present === undefined
const missingIn = (present: ReadonlyMap<string, unknown>, items: readonly Item<FlagPart | SegmentPart, unknown>[]) => {
  const kept = new Set(keysOf(items))
  return [...present.keys()].filter((key) => !kept.has(key))
}

/** Plan of the import and the problems of the documents. The function only reads from the service. */
export const planned = async (client: Client, documents: readonly Document[], { skipExisting, drop }: PlanOptions) => {
  const [plans, problems]: [Plan[], Problem[]] = [[], []]
  for (const [key, { namespace, ...given }] of grouped(documents)) {
    const unnamed = namespaceProblems(namespace)
    problems.push(...unnamed)
    if (unnamed.length > 0) continue

    const found = await existing(client, key, drop)
    const [haveFlags, haveSegments] = [byKey(found.flags), byKey(found.segments)]
    const [flags, segments] = [itemsOf(given.flags, haveFlags), itemsOf(given.segments, haveSegments)]
    const known = new Set([...(drop ? [] : haveSegments.keys()), ...keysOf(segments)])
    const clash = (kind: string, items: readonly Item<FlagPart | SegmentPart, unknown>[]) =>
      skipExisting || drop
        ? []
        : items
            .filter((item) => !isNew(item))
            .map(({ part: { at, body } }): Problem => {
              return { ...notUnique(at('key'), `${kind} "${key}/${body.key}" is not unique`), existing: true }
            })
    // An existing item that is skipped is not written, so its faults do not matter.
    const isWritten = (item: Item<unknown, unknown>) => !skipExisting || drop || isNew(item)
    const [writtenFlags, writtenSegments] = [flags.filter(isWritten), segments.filter(isWritten)]
    const faults = [
      ...clash('segment', segments),
      ...clash('flag', flags),
      ...contentProblems(
        key,
        writtenFlags.map(({ part }) => part),
        writtenSegments.map(({ part }) => part),
        known,
      ),
    ]
    problems.push(...faults)
    if (faults.length > 0) continue
    const whole = await eachTogether(writtenFlags, async ({ part, present }) => ({
      part,
      present: present && (await wholeFlag(client, present)),
    }))
    const growth = [...writtenSegments, ...whole].reduce(
      (sum, { part, present }) => sum + bytesIn(part) - bytesIn(present),
      0,
    )
    plans.push({
      namespace,
      key,
      present: found.namespace,
      isNamed: !skipExisting,
      drops: drop
        ? { flags: missingIn(haveFlags, flags), segments: missingIn(haveSegments, segments) }
        : { flags: [], segments: [] },
      skips: {
        flags: keysOf(flags.filter((item) => !isWritten(item))),
        segments: keysOf(segments.filter((item) => !isWritten(item))),
      },
      segments: writtenSegments,
      flags: whole,
      counts: {
        flags: found.flags.length,
        segments: found.segments.length,
        bytes: bytesIn([found.flags, found.segments]) + growth,
        growth,
      },
    })
  }
  return { plans, problems }
}
