import { isFailure } from '../../base/failure.ts'
import { type Client, segment } from '../client/client.ts'
import type { FlagPart, SegmentPart } from '../document/read.ts'
import { type Change, flagChanges, segmentChanges } from './differences.ts'
import { rankOf } from './problems.ts'

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

/** Sends the remaining requests of an item. */
export type Rest = () => Promise<void>
type Made = { readonly id: string }
export type Write = <T>(
  path: string,
  method: string,
  url: string,
  body?: object,
  query?: { dryRun: 'true' },
) => Promise<T>

/** Sends the writes of an import. Failures name the location in the document. */
export const writer =
  (client: Client, headers: Readonly<Record<string, string>>): Write =>
  async (path, method, url, body, query) => {
    try {
      return await client.ask(method, url, { headers, ...(body && { body }), ...(query && { query }) })
    } catch (error) {
      if (isFailure(error) && path !== '') error.message = `${path}: ${error.message}`
      throw error
    }
  }

/** Deletes an item that could not be completed, so that it can be imported again. */
const whole =
  (write: Write, url: string, work: Rest): Rest =>
  async () => {
    try {
      await work()
    } catch (error) {
      if (!isFailure(error)) throw error
      await write('', 'DELETE', url).catch((second: unknown) => {
        if (!isFailure(second)) throw second
        error.message += `\nThe item exists in part, because its removal failed too: delete it before importing it again. ${second.message}`
      })
      throw error
    }
  }

/** Creates a segment. The constraints follow as one write, before any flag of the import uses the segment. */
export const makeSegment = async (write: Write, root: string, part: SegmentPart): Promise<Rest> => {
  const { path, body } = part
  await write(path, 'POST', `${root}/segments`, body)
  const url = `${root}/segments/${segment(body.key ?? '')}`
  const changes = segmentChanges(part, { ...body, constraints: [] })
  return whole(write, url, async () => {
    await sendBatches(batchesOf(changes, 0), (changes) => write(path, 'POST', `${url}/changes`, { changes }))
  })
}

/** Creates the rules of a flag at their ranks. A request for several changes makes no gaps between ranks. */
const makeRules = async (write: Write, url: string, part: FlagPart, ids: ReadonlyMap<string, string>) => {
  const keys = part.variants.map(({ body }) => body.key)
  for (const [n, rule] of part.rules.entries()) {
    const { id } = await write<Made>(rule.path, 'POST', `${url}/rules`, { ...rule.body, rank: rankOf(rule, n) })
    for (const { path, variant, rollout } of rule.shares)
      await write(path, 'POST', `${url}/rules/${id}/distributions`, {
        variantId: ids.get(`variant-${keys.indexOf(variant)}`),
        rollout,
      })
  }
}

/** Creates a flag. With parts it is off until it has all of them, because its answers would be wrong. */
export const makeFlag = async (write: Write, root: string, part: FlagPart): Promise<Rest> => {
  const { path, body, variants, rules, rollouts } = part
  const hasParts = variants.length + rules.length + rollouts.length > 0
  const first = hasParts ? { ...body, enabled: false } : body
  await write(path, 'POST', `${root}/flags`, first)
  const url = `${root}/flags/${segment(body.key ?? '')}`
  const changes = flagChanges(part, { flag: { ...first, variants: [] }, rules: [], rollouts: [] })
  const ranks = rules.map((rule, n) => Number(rankOf(rule, n))).toSorted((one, other) => one - other)
  const isPlain = ranks.every((rank, n) => rank === n + 1)
  const parts = changes.filter(({ op }) => op !== 'flag.update' && (isPlain || !op.startsWith('rule.')))
  const send = (changes: object) => write<object>(path, 'POST', `${url}/changes`, { changes })
  return whole(write, url, async () => {
    const own = changes.filter(({ op }) => op === 'flag.update')
    if (isPlain) return void (await sendBatches(batchesOf([...parts, ...own], 0), send))
    const ids = await sendBatches(batchesOf(parts, 0), send)
    await makeRules(write, url, part, ids)
    await sendBatches(batchesOf(own, 0), send, ids)
  })
}
