import type { StoredRecord } from '../entry.ts'

/** Outcome of an event, as auditors classify it. */
type Outcome = 'success' | 'denied' | 'failed'

type Members = Readonly<Record<string, unknown>>

/** Metadata of an event that filters and formats show. */
type Envelope = Readonly<
  Partial<
    Record<
      'command' | 'requestId' | 'correlationId' | 'causationId' | 'traceId' | 'route' | 'reason' | 'instance',
      string
    >
  >
>

/** Sender of a command. */
type Actor = { readonly kind: string; readonly id?: string; readonly method?: string }

/** Fields of an event that follow from its record alone. A field that is absent is undefined. */
export type EventFields = {
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
  readonly meta: Envelope | undefined
  /** Data; undefined if its text is not a JSON object. */
  readonly data: Members | undefined
}

/** An event in its place: index counts from 0 without gaps. */
export type IndexedEvent = { readonly index: number; readonly record: StoredRecord; readonly fields: EventFields }

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

const actorIn = (meta: Members | undefined): Actor => {
  const actor = meta?.['actor']
  return actor !== null && typeof actor === 'object' ? (actor as Actor) : { kind: 'system' }
}

/** Returns an event in its place. Fields that are not known yet are read when they are needed. */
export const indexedEvent = (index: number, record: StoredRecord, known?: EventFields): IndexedEvent => {
  let fields = known
  return {
    index,
    record,
    get fields() {
      return (fields ??= fieldsOf(record))
    },
  }
}

/** Reads the fields of a record. Total: a record that this version cannot read has the fields that it can find. */
export const fieldsOf = ({ type: wire, stream, data: dataJson, meta: metaJson }: StoredRecord): EventFields => {
  const [data, meta] = [membersIn(dataJson), membersIn(metaJson)]
  const [type = wire, version = '1'] = wire.split(/\.v(?=\d+$)/)
  const category = categoryOf(stream)
  const byAccount = data?.['serviceAccount'] !== undefined ? 'orchestrator' : undefined
  return {
    type,
    version: Number(version),
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
