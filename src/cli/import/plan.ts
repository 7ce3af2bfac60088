import type { Namespace } from '../../contract/namespace.ts'
import { EXIT, isFailure } from '../../failure.ts'
import type { Client } from '../client/client.ts'
import { all } from '../client/lists.ts'
import type { Document, FlagPart, NamespacePart, SegmentPart } from '../document/parts.ts'
import { flagProblems, notUnique, segmentProblems, twice } from './check.ts'
import { type Problem, problemsOf } from './rules.ts'

type PlanOptions = { readonly skipExisting: boolean; readonly drop: boolean }
type Keys = { readonly flags: readonly string[]; readonly segments: readonly string[] }

/** Changes of one namespace, in this order. */
export type Plan = {
  readonly namespace: NamespacePart
  readonly key: string
  /** Creates the namespace, updates its name and description, or keeps it. */
  readonly naming: 'create' | 'update' | 'keep'
  readonly drops: Keys
  readonly skips: Keys
  readonly segments: readonly SegmentPart[]
  readonly flags: readonly FlagPart[]
}

type Group = { namespace: NamespacePart; readonly flags: FlagPart[]; readonly segments: SegmentPart[] }

/**
 * Groups the documents by namespace. A namespace may occur in several documents; the last one with a name determines
 * it.
 */
const grouped = (documents: readonly Document[]): ReadonlyMap<string, Group> => {
  const groups = new Map<string, Group>()
  for (const { namespace, flags, segments } of documents) {
    const { key } = namespace.body
    const group = groups.get(key) ?? { namespace, flags: [], segments: [] }
    if (namespace.stated) group.namespace = namespace
    for (const flag of flags) group.flags.push(flag)
    for (const segment of segments) group.segments.push(segment)
    groups.set(key, group)
  }
  return groups
}

const existingKeys = async (client: Client, key: string): Promise<Keys & { readonly namespace?: Namespace }> => {
  const path = `/api/v1/namespaces/${encodeURIComponent(key)}`
  const keys = async (list: string) =>
    (await all<{ readonly key: string }>(client, `${path}/${list}`, list)).map(({ key }) => key)
  try {
    const namespace = await client.ask<Namespace>('GET', path)
    return { namespace, flags: await keys('flags'), segments: await keys('segments') }
  } catch (error) {
    if (isFailure(error) && error.exit === EXIT.notFound) return { flags: [], segments: [] }
    throw error
  }
}

/** Problems of the documents that show without the service. */
export const problemsWithin = (documents: readonly Document[]): readonly Problem[] =>
  [...grouped(documents)].flatMap(([key, { namespace, flags, segments }]) => [
    ...problemsOf('namespace', namespace.at, namespace.body),
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

const nothing: Keys = { flags: [], segments: [] }

/** Splits the parts into new ones and existing ones. */
const sorted = <T extends FlagPart | SegmentPart>(parts: readonly T[], present: readonly string[]) => {
  const keys = new Set(present)
  const isThere = ({ body: { key } }: T) => key !== undefined && keys.has(key)
  return { fresh: parts.filter((part) => !isThere(part)), old: parts.filter(isThere) }
}
const keysOf = (parts: readonly (FlagPart | SegmentPart)[]) => parts.map(({ body }) => body.key ?? '')

/** Plan of the import and all problems. The function only reads from the service. */
export const planned = async (client: Client, documents: readonly Document[], { skipExisting, drop }: PlanOptions) => {
  const [plans, problems]: [Plan[], Problem[]] = [[], []]
  for (const [key, { namespace, ...given }] of grouped(documents)) {
    const unnamed = problemsOf('namespace', namespace.at, namespace.body)
    problems.push(...unnamed)
    if (unnamed.length > 0) continue

    const { namespace: present, ...keys } = await existingKeys(client, key)
    const stay = drop ? nothing : keys
    const [flags, segments] = [sorted(given.flags, stay.flags), sorted(given.segments, stay.segments)]
    const known = new Set([...stay.segments, ...keysOf(given.segments)])
    const clash = (kind: string, old: readonly (FlagPart | SegmentPart)[]) =>
      skipExisting
        ? []
        : old.map(({ at, body }): Problem => {
            return { ...notUnique(at('key'), `${kind} "${key}/${body.key}" is not unique`), existing: true }
          })
    // An existing item that is skipped is not written, so its faults do not matter.
    const checked = skipExisting ? { flags: flags.fresh, segments: segments.fresh } : given
    problems.push(
      ...clash('segment', segments.old),
      ...clash('flag', flags.old),
      ...contentProblems(key, checked.flags, checked.segments, known),
    )
    const { name, description } = namespace.body
    const named = !namespace.stated || skipExisting || (present?.name === name && present.description === description)
    plans.push({
      namespace,
      key,
      naming: present === undefined ? 'create' : named ? 'keep' : 'update',
      drops: drop ? keys : nothing,
      skips: { flags: keysOf(flags.old), segments: keysOf(segments.old) },
      segments: segments.fresh,
      flags: flags.fresh,
    })
  }
  return { plans, problems }
}
