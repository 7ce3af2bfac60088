import type { distributionBody } from '../../contract/flags/distribution.ts'
import type { flagUpdate } from '../../contract/flags/flag.ts'
import type { namespaceUpdate } from '../../contract/namespace.ts'
import { isFailure } from '../../failure.ts'
import type { Client } from '../client/client.ts'
import type { FlagPart, GivenTo, SegmentPart } from '../document/parts.ts'
import { rankOf } from './check.ts'
import type { Plan } from './plan.ts'

/** Sends the remaining requests of an item. */
export type Rest = () => Promise<void>
/**
 * One item of the import, imported completely or not at all. Steps begin one after another to keep the order of lists;
 * their remaining requests may run concurrently.
 */
export type Step = {
  readonly sign: '+' | '*' | '-' | '~'
  readonly what: string
  readonly begin?: () => Promise<Rest | undefined>
}

type Made = { readonly id: string }
type Write = <T>(path: string, method: string, url: string, body?: object) => Promise<T>

/** Sends the writes of an import. Failures name the location in the document. */
const writer =
  (client: Client, headers: Readonly<Record<string, string>>): Write =>
  async (path, method, url, body) => {
    try {
      return await client.ask(method, url, { headers, ...(body && { body }) })
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

const makeSegment = async (write: Write, root: string, { path, body, constraints }: SegmentPart): Promise<Rest> => {
  await write(path, 'POST', `${root}/segments`, body)
  const url = `${root}/segments/${encodeURIComponent(body.key ?? '')}`
  return whole(write, url, async () => {
    for (const part of constraints) await write(part.path, 'POST', `${url}/constraints`, part.body)
  })
}

const makeFlag = async (
  write: Write,
  root: string,
  { path, body, variants, rules, rollouts }: FlagPart,
): Promise<Rest> => {
  await write(path, 'POST', `${root}/flags`, body)
  const url = `${root}/flags/${encodeURIComponent(body.key ?? '')}`
  return whole(write, url, async () => {
    const ids = new Map<string | undefined, string>()
    let defaultVariantId: string | undefined
    for (const { path, body, byDefault } of variants) {
      const { id } = await write<Made>(path, 'POST', `${url}/variants`, body)
      ids.set(body.key, id)
      if (byDefault) defaultVariantId = id
    }
    const { name, description, enabled } = body
    // The service keeps the metadata if the request has none.
    const update: Omit<GivenTo<typeof flagUpdate>, 'metadata'> = { name, description, enabled, defaultVariantId }
    if (defaultVariantId !== undefined) await write(path, 'PUT', url, update)
    for (const [n, rule] of rules.entries()) {
      const { id } = await write<Made>(rule.path, 'POST', `${url}/rules`, { ...rule.body, rank: rankOf(rule, n) })
      for (const { path, variant, rollout } of rule.shares) {
        const body: GivenTo<typeof distributionBody> = { variantId: ids.get(variant), rollout }
        await write(path, 'POST', `${url}/rules/${id}/distributions`, body)
      }
    }
    for (const { path, body } of rollouts) await write(path, 'POST', `${url}/rollouts`, body)
  })
}

/** Steps of all plans, in the order of execution. */
export const stepsOf = (
  client: Client,
  plans: readonly Plan[],
  headers: Readonly<Record<string, string>>,
): readonly Step[] => {
  const write = writer(client, headers)
  /** Step of the import that sends a single request. */
  const only =
    (...request: Parameters<Write>) =>
    async () => {
      await write(...request)
      return undefined
    }
  return plans.flatMap(({ namespace: { path, body }, key, naming, drops, skips, segments, flags }): readonly Step[] => {
    const root = `/api/v1/namespaces/${encodeURIComponent(key)}`
    const drop = (kind: string, list: string, keys: readonly string[]) =>
      keys.map((each): Step => {
        const begin = only(path, 'DELETE', `${root}/${list}/${encodeURIComponent(each)}`)
        return { sign: '-', what: `${kind} ${key}/${each}`, begin }
      })
    const skip = (kind: string, keys: readonly string[]) =>
      keys.map((each): Step => ({ sign: '~', what: `${kind} ${key}/${each}` }))
    const { name, description } = body
    const update: GivenTo<typeof namespaceUpdate> = { name, description }
    const named: Readonly<Record<Plan['naming'], readonly Step[]>> = {
      create: [{ sign: '+', what: `namespace ${key}`, begin: only(path, 'POST', '/api/v1/namespaces', body) }],
      update: [
        {
          sign: '*',
          what: `namespace ${key}: name and description`,
          begin: only(path, 'PUT', root, update),
        },
      ],
      keep: [],
    }
    return [
      ...named[naming],
      ...drop('flag', 'flags', drops.flags),
      ...drop('segment', 'segments', drops.segments),
      ...skip('segment', skips.segments),
      ...segments.map(
        (part): Step => ({
          sign: '+',
          what: `segment ${key}/${part.body.key}`,
          begin: () => makeSegment(write, root, part),
        }),
      ),
      ...skip('flag', skips.flags),
      ...flags.map(
        (part): Step => ({ sign: '+', what: `flag ${key}/${part.body.key}`, begin: () => makeFlag(write, root, part) }),
      ),
    ]
  })
}

/** Counts by kind: `3 created, 1 skipped`. */
export const summary = (steps: readonly Step[]): string => {
  const words = { '+': 'created', '*': 'updated', '-': 'dropped', '~': 'skipped' } as const
  const counted = Object.entries(words).flatMap(([sign, word]) => {
    const count = steps.filter((step) => step.sign === sign).length
    return count === 0 ? [] : [`${count} ${word}`]
  })
  return counted.length === 0 ? 'nothing to do' : counted.join(', ')
}
