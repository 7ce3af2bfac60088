import { typeName } from '../events/define.ts'
import type { Stored } from '../events/log.ts'
import type { Actor, Meta } from '../events/meta.ts'
import type { Recorded } from '../events/recorded.ts'

/** Outcome of an event, as auditors classify it. */
type Outcome = 'success' | 'denied' | 'failed'

type Members = Readonly<Record<string, unknown>>

/** Fields of an event that follow from its record alone. A field that is absent is undefined. */
export type Facts = {
  /** Type without version. */
  readonly type: string
  /** Version of the shape, from 1. */
  readonly version: number
  readonly category: string
  readonly namespace: string | undefined
  readonly subject: string | undefined
  readonly method: string | undefined
  readonly provider: string | undefined
  readonly outcome: Outcome
  readonly actor: Actor
  /** Token in the data, such as the token of a refused request. */
  readonly tokenId: string | undefined
  /** Envelope of the event; undefined if its text is not a JSON object. */
  readonly meta: Partial<Meta> | undefined
  /** Data; undefined if its text is not a JSON object. */
  readonly data: Members | undefined
}

/** An event in its place: index counts from 0 without gaps. */
export type IndexedEvent = { readonly index: number; readonly record: Stored; readonly facts: Facts }

const REFUSALS: ReadonlySet<string> = new Set(['LoginRefused', 'AuthenticationRefused'])

/** Refusals by a decision about rights. All others are failures of the credential or of a server. */
const DENIALS: ReadonlySet<string> = new Set([
  'token_scoped',
  'right_missing',
  'grant_exceeds',
  'no_grant',
  'cross_site',
  'email_not_allowed',
  'membership_required',
  'service_account_not_allowed',
])

const outcomeOf = (type: string, reason: string | undefined): Outcome => {
  if (type === 'RefusalsSummarised') return 'failed'
  if (!REFUSALS.has(type)) return 'success'
  return reason !== undefined && DENIALS.has(reason) ? 'denied' : 'failed'
}

/** Members of a JSON object; undefined if the text is something else. */
const membersIn = (json: string): Members | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

const textIn = (members: Members | undefined, name: string): string | undefined => {
  const value = members?.[name]
  return typeof value === 'string' ? value : undefined
}

/** Category of a stream: its name up to the first hyphen. */
export const categoryOf = (stream: string): string => stream.slice(0, Math.max(0, stream.indexOf('-')))

/** Version in a wire name; 1 if there is none. */
const versionOf = (wire: string): number => Number(/\.v(\d+)$/.exec(wire)?.[1] ?? 1)

const actorIn = (meta: Members | undefined): Actor => {
  const actor = meta?.['actor']
  return actor !== null && typeof actor === 'object' ? (actor as Actor) : { kind: 'system' }
}

/** Returns an event in its place. Facts that are not known yet are read when they are needed. */
export const indexedEvent = (index: number, record: Stored, known?: Facts): IndexedEvent => {
  let facts = known
  return {
    index,
    record,
    get facts() {
      return (facts ??= factsOf(record))
    },
  }
}

/** A record in the form that summaries and changes are made of. */
export const recordedOf = ({ category, data }: Facts, { type }: Stored): Recorded => ({ category, type, data })

/** Reads the facts of a record. Total: a record that this version cannot read has the facts that it can find. */
export const factsOf = ({ type: wire, stream, data: dataJson, meta: metaJson }: Stored): Facts => {
  const [data, meta] = [membersIn(dataJson), membersIn(metaJson)]
  const [type, category] = [typeName(wire), categoryOf(stream)]
  const byAccount = data?.['serviceAccount'] !== undefined ? 'orchestrator' : undefined
  return {
    type,
    version: versionOf(wire),
    category,
    namespace: textIn(data, 'namespace') ?? (category === 'namespace' ? textIn(data, 'key') : undefined),
    subject: textIn(data, 'subject') ?? textIn(meta, 'subject'),
    method: textIn(data, 'method') ?? byAccount,
    provider: textIn(data, 'provider'),
    outcome: outcomeOf(type, textIn(data, 'reason')),
    actor: actorIn(meta),
    tokenId: textIn(data, 'tokenId'),
    meta,
    data,
  }
}
