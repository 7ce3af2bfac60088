import type { Change } from './differences.ts'

/** Bounds of one request (api.md §7.9), with room for what the answer of the service adds. */
const [MEMBERS, WORK, BYTES] = [200, 150_000, 786_432]

const length = (list: unknown): number => (Array.isArray(list) ? list.length : 0)
const weightOf = ({ distributions, segmentKeys, segment }: Change): number =>
  1 + length(distributions) + length(segmentKeys ?? (segment as Change | undefined)?.segmentKeys)

/** Splits changes into requests that the service accepts: one, unless there are very many. `parts`: those that exist. */
export const batchesOf = (changes: readonly Change[], parts: number): readonly (readonly Change[])[] => {
  const batches: Change[][] = []
  let [there, weight, bytes] = [parts, 0, 0]
  for (const change of changes) {
    const [more, size] = [weightOf(change), Buffer.byteLength(JSON.stringify(change))]
    const last = batches.at(-1)
    const all = weight + more
    if (last && last.length < MEMBERS && all * (all + there) <= WORK && bytes + size <= BYTES) {
      last.push(change)
      ;[weight, bytes] = [all, bytes + size]
    } else {
      batches.push([change])
      ;[there, weight, bytes] = [there + weight, more, size]
    }
  }
  return batches
}

/** Replaces references by the ids of the parts that earlier requests made. */
const resolved = (change: Change, ids: ReadonlyMap<string, string>): Change => {
  const idOf = (ref: unknown) => (typeof ref === 'string' ? (ids.get(ref) ?? ref) : ref)
  const { id, defaultVariantId, ids: order, distributions } = change
  return {
    ...change,
    ...(id !== undefined && { id: idOf(id) }),
    ...(defaultVariantId !== undefined && { defaultVariantId: idOf(defaultVariantId) }),
    ...(Array.isArray(order) && { ids: order.map(idOf) }),
    ...(Array.isArray(distributions) && {
      distributions: distributions.map((each: Change) => ({ ...each, variantId: idOf(each['variantId']) })),
    }),
  }
}

/** Sends the requests one after another. `send` returns the ids of the new parts, which are added to the known ones. */
export const sendBatches = async (
  batches: readonly (readonly Change[])[],
  send: (changes: readonly Change[]) => Promise<{ readonly refs?: Readonly<Record<string, string>> }>,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<ReadonlyMap<string, string>> => {
  const ids = new Map(known)
  for (const batch of batches) {
    const { refs = {} } = await send(batch.map((change) => resolved(change, ids)))
    for (const [ref, id] of Object.entries(refs)) ids.set(ref, id)
  }
  return ids
}
