import { reachOf, reachText } from '../../access/reach.ts'
import { refuse } from '../../base/errors.ts'
import type { Admit } from '../../commands/decider.ts'
import { MOST_BYTES } from '../../commands/size.ts'
import type { Config } from '../../config/load.ts'
import type { FlagEvent } from '../../events/flag.ts'
import type { NamespaceEvent } from '../../events/namespace.ts'
import type { SegmentEvent } from '../../events/segment.ts'
import type { TokenEvent } from '../../events/token.ts'
import type { FlagStore } from '../../projections/flag-memory/flag-store.ts'
import type { TokenIndex } from '../../projections/token-memory/token-index.ts'

type Limits = Config['quotas']
type CountedFlags = Pick<FlagStore<unknown>, 'flag' | 'tally' | 'namespaceCount'>
type TokenIssued = Extract<TokenEvent, { type: 'TokenIssued' }>['data']
type Counted = FlagEvent | SegmentEvent | NamespaceEvent | TokenEvent

/**
 * Refuses commands that would exceed a quota, based on the memory of this instance (docs/decisions/0010). Data already
 * beyond a quota stays, and may shrink, be renamed, switched and deleted. Commands of the service itself are never
 * refused.
 */
export const quotas = (limits: Limits, held: CountedFlags, index: Pick<TokenIndex, 'countIssuedBy'>): Admit => {
  const oneMore = (whose: string, have: number, what: string, setting: keyof Limits) => {
    if (have >= limits[setting])
      refuse('quota_exceeded', `${whose} already has ${have} ${what}; quotas.${setting} allows ${limits[setting]}`)
  }
  const oneMoreToken = ({ issuedBy, grants, roles, namespace }: TokenIssued) => {
    const { tokens, characters } = index.countIssuedBy(issuedBy)
    oneMore('this credential', tokens, 'live tokens', 'tokens_per_credential')
    const all = characters + reachText(reachOf({ grants, roles, namespace })).length
    if (all > limits.grant_bytes_per_credential)
      refuse(
        'quota_exceeded',
        `the live tokens of this credential would have ${all} bytes of rights; quotas.grant_bytes_per_credential allows ${limits.grant_bytes_per_credential}`,
      )
  }
  const room = (namespace: string, growth: () => number) => {
    const { bytes } = held.tally(namespace)
    // A command adds at most `MOST_BYTES` to a namespace. If the namespace has space for `MOST_BYTES`, the growth of
    // the command need not be measured.
    if (bytes + MOST_BYTES <= limits.bytes_per_namespace) return
    const more = growth()
    if (more > 0 && bytes + more > limits.bytes_per_namespace)
      refuse(
        'quota_exceeded',
        `namespace "${namespace}" would have ${bytes + more} bytes of flags and segments; quotas.bytes_per_namespace allows ${limits.bytes_per_namespace}`,
      )
  }

  return ({ events, growth, actor }) => {
    if (actor.kind === 'system') return
    for (const { type, data } of events as readonly Counted[]) {
      if (type === 'NamespaceCreated') oneMore('the service', held.namespaceCount(), 'namespaces', 'namespaces')
      else if (type === 'TokenIssued') {
        if (data.method === 'token') oneMoreToken(data)
      } else if (type === 'FlagRegistered') {
        // If the flag already exists, its stream refuses or repeats the command.
        if (held.flag(data.key, data.flag)) continue
        oneMore(`namespace "${data.key}"`, held.tally(data.key).flags, 'flags', 'flags_per_namespace')
        room(data.key, () => 1)
      } else if (type === 'SegmentCreated') {
        oneMore(
          `namespace "${data.namespace}"`,
          held.tally(data.namespace).segments,
          'segments',
          'segments_per_namespace',
        )
        room(data.namespace, () => 1 + growth())
      } else if ('incarnation' in data && 'namespace' in data) room(data.namespace, growth)
    }
  }
}
