import type { Flag, FlagList, FlagWithUsage, ChangedFlag as TriedFlag } from '../../../src/contract/flags/flag.ts'
import type { Rollout } from '../../../src/contract/flags/rollout.ts'
import type { Rule } from '../../../src/contract/flags/rule.ts'
import { flags as words } from '../words/flags.ts'
import { serviceNow } from './clock.ts'
import { Failure, isFailure } from './failure.ts'
import { keys } from './keys.ts'
import { path, query, read, request } from './request.ts'
import type { Write } from './write.ts'

export type { Flag, Rollout, Rule }
export type FlagType = Flag['type']

export type ListedFlag = FlagList['flags'][number]
/** Identity that made the last change. */
export type Actor = NonNullable<ListedFlag['changedBy']>
export type FlagPage = FlagList

type FlagFilter = {
  readonly q?: string | undefined
  readonly type?: string | undefined
  readonly enabled?: string | undefined
  /** Flags that were evaluated in the last 30 days, or those that were not. */
  readonly last?: '' | 'recently' | 'not' | undefined
  readonly sort?: string | undefined
  readonly order?: string | undefined
  readonly page?: string | undefined
  readonly at?: string | undefined
}

const PAGE = 50
const MONTH_MS = 30 * 86_400_000

/** Parameter of the API for the filter by last evaluation. */
const evaluated = (last: FlagFilter['last']) =>
  last && { [last === 'not' ? 'notEvaluatedSince' : 'evaluatedSince']: new Date(serviceNow() - MONTH_MS).toISOString() }

const ofNamespace = (namespace: string, ...rest: readonly string[]) =>
  `api/v1/namespaces/${path(namespace, 'flags', ...rest)}`

/** Path of a flag in the API. */
export const flagPath = (namespace: string, key: string): string => ofNamespace(namespace, key)

/** Reads one page of the flags of a namespace, including their targeting. */
export const readFlags = (
  namespace: string,
  { page, last, ...filter }: FlagFilter,
  signal?: AbortSignal,
): Promise<FlagPage> =>
  read(
    `${ofNamespace(namespace)}${query({ ...filter, ...evaluated(last), include: 'targeting', limit: PAGE, pageToken: page })}`,
    { signal },
  )

/** Reads when a flag was last evaluated, and when the snapshot of its namespace was last fetched. */
export const readUsage = (namespace: string, key: string, signal?: AbortSignal): Promise<FlagWithUsage> =>
  read(`${flagPath(namespace, key)}${query({ include: 'usage' })}`, { signal })

/** Searches the flags of a namespace by name or key; returns at most `limit`. */
export const searchFlags = (
  namespace: string,
  asked: { readonly q: string; readonly at: string | undefined; readonly limit: number },
  signal?: AbortSignal,
): Promise<FlagPage> => read(`${ofNamespace(namespace)}${query(asked)}`, { signal })

type NewFlag = Pick<Flag, 'key' | 'name' | 'description' | 'enabled' | 'type'>

export const flagCreation = (namespace: string, body: NewFlag, reason: string): Write => ({
  method: 'POST',
  path: ofNamespace(namespace),
  body,
  reason,
  stale: [keys.flags(namespace), keys.flag(namespace, body.key)],
})

/** Flag with its rollouts and rules, all read at the same revision. */
export type Loaded = {
  readonly flag: Flag
  readonly rollouts: readonly Rollout[]
  readonly rules: readonly Rule[]
  readonly revision: string
}

const READS = 3

/**
 * Reads a flag with its rollouts and rules. If the revisions of the flag and its parts differ, they are read again, at
 * most three times.
 */
export const readFlag = async (
  namespace: string,
  key: string,
  at: string | undefined,
  signal?: AbortSignal,
): Promise<Loaded> => {
  const read = <T>(...rest: readonly string[]) =>
    request<T>(`${ofNamespace(namespace, key, ...rest)}${query({ at })}`, { signal })
  for (let left = READS; left > 0; left--) {
    const [flag, rollouts, rules] = await Promise.all([
      read<Flag>(),
      read<{ readonly rollouts: readonly Rollout[] }>('rollouts'),
      read<{ readonly rules: readonly Rule[] }>('rules'),
    ])
    if (flag.etag === rollouts.etag && flag.etag === rules.etag)
      return {
        flag: flag.value,
        rollouts: rollouts.value.rollouts,
        rules: rules.value.rules,
        revision: flag.etag ?? '',
      }
  }
  throw new Failure(words.moving, { status: 503, reason: 'moving' })
}

/** Whether there is a flag with this key. */
export const hasFlag = async (namespace: string, key: string): Promise<boolean> => {
  try {
    await request(flagPath(namespace, key))
    return true
  } catch (error) {
    if (isFailure(error) && error.status === 404) return false
    throw error
  }
}

type RolloutFields = {
  readonly description: string
  readonly threshold?: { readonly percentage: number; readonly value: boolean }
  readonly segment?: BySegments & { readonly value: boolean }
}
type BySegments = { readonly segmentKeys: readonly string[]; readonly segmentOperator: string }
type RuleFields = BySegments & {
  readonly distributions: readonly { readonly variantId: string; readonly rollout: number }[]
}
type VariantFields = Readonly<Pick<Flag['variants'][number], 'key' | 'name' | 'description' | 'attachment'>>
type Ordered<T extends string, F> =
  | ({ readonly op: `${T}.create`; readonly ref: string } & F)
  | ({ readonly op: `${T}.update`; readonly id: string } & F)
  | { readonly op: `${T}.delete`; readonly id: string }
  | { readonly op: `${T}.order`; readonly ids: readonly string[] }

/** Operation on a flag, rollout, rule or variant (api.md §7.9). */
export type Op =
  | ({ readonly op: 'flag.update' } & Readonly<
      Partial<Pick<Flag, 'name' | 'description' | 'enabled' | 'metadata'> & { readonly defaultVariantId: string }>
    >)
  | ({ readonly op: 'variant.create'; readonly ref: string } & VariantFields)
  | ({ readonly op: 'variant.update'; readonly id: string } & Partial<VariantFields>)
  | { readonly op: 'variant.delete'; readonly id: string }
  | Ordered<'rollout', RolloutFields>
  | Ordered<'rule', RuleFields>

/** Flag with its rollouts and rules after the changes. */
export type ChangedFlag = Omit<Loaded, 'revision'>

const staleWith = (namespace: string, key: string) => [keys.flags(namespace), keys.flag(namespace, key)]

/** Write that applies several operations to a flag atomically. */
export const flagChanges = (
  { namespaceKey, key }: Flag,
  revision: string,
  changes: readonly Op[],
  reason: string,
): Write => ({
  method: 'POST',
  path: ofNamespace(namespaceKey, key, 'changes'),
  body: { changes },
  revision,
  reason,
  stale: staleWith(namespaceKey, key),
})

/** Tries the changes of a JSON body on the revision that was shown, with an entity. The service writes nothing. */
export const tryFlag = ({ flag: { namespaceKey, key }, revision }: Loaded, body: string): Promise<TriedFlag> =>
  read(`${ofNamespace(namespaceKey, key, 'changes')}?dryRun=true&explain=true`, {
    method: 'POST',
    body,
    reads: true,
    headers: { 'if-match': `"${revision}"` },
  })

export const flagDeletion = ({ namespaceKey, key }: Flag, revision: string, reason: string): Write => ({
  method: 'DELETE',
  path: ofNamespace(namespaceKey, key),
  revision,
  reason,
  stale: [keys.flags(namespaceKey)],
})
