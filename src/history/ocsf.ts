import { isIP } from 'node:net'
import { version } from '../base/version.ts'
import type { IndexedEvent } from '../verifier/export/event-fields.ts'
import { summaryOfEvent } from './event-json.ts'
import { QUIET_EVENTS } from './event-names.ts'
import type { OpenedFields } from './opened-fields.ts'

/** Version of the Open Cybersecurity Schema Framework of these events. */
const OCSF = '1.8.0'

/** Events without a line: those that no client sees as a change, and the steps of a login. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...QUIET_EVENTS,
  'LoginStarted',
  'LoginReturned',
  'LoginCompleted',
  'LoginsBegun',
])

/** Identity & Access Management, and its classes Authentication and Entity Management. */
const [IAM, AUTHENTICATION, ENTITY_MANAGEMENT] = [3, 3002, 3004]
const LOGON = 1
const [CREATE, READ, UPDATE, DELETE] = [1, 2, 3, 4]
const [UNKNOWN_USER, USER, ADMIN, SYSTEM] = [0, 1, 2, 3]
const [OPEN_ID, OAUTH_2, OTHER] = [4, 6, 99]

const REFUSALS: ReadonlySet<string> = new Set(['LoginRefused', 'AuthenticationRefused', 'RefusalsSummarised'])

/** Activity of an event of the class Entity Management, by its type. */
const activityOf = (type: string): number => {
  if (/(?:Deleted|Removed)$/.test(type) || ['TokenRevoked', 'TokenExpired', 'SubjectErased'].includes(type))
    return DELETE
  if (type === 'HistoryRead' || type === 'HistoryExported') return READ
  return /(?:Created|Added|Issued|Started)$/.test(type) ? CREATE : UPDATE
}

type Data = Readonly<Record<string, unknown>>

const textIn = (data: Data | undefined, name: string): string | undefined => {
  const value = data?.[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

const msOf = (data: Data | undefined, name: string): number | undefined => {
  const time = Date.parse(textIn(data, name) ?? '')
  return Number.isNaN(time) ? undefined : time
}

/** Method of a login or refusal: in its data, else in its route. */
const methodOf = ({ fields: { method, meta, data } }: IndexedEvent): string | undefined =>
  method ?? /^\/auth\/v1\/method\/(oidc|codehost|orchestrator)\//.exec(textIn(data, 'route') ?? meta?.route ?? '')?.[1]

const protocolOf = (method: string | undefined): object => {
  if (method === 'oidc') return { auth_protocol_id: OPEN_ID }
  if (method === 'codehost') return { auth_protocol_id: OAUTH_2 }
  return {
    auth_protocol_id: OTHER,
    auth_protocol: method === 'orchestrator' ? 'Kubernetes service account token' : 'Bearer token',
  }
}

/** Identifier of the person, account or token that tried to authenticate. */
const userIdOf = ({ fields: { type, subject, tokenId, data } }: IndexedEvent): string => {
  if (type === 'TokenIssued') return subject ?? textIn(data, 'identity') ?? textIn(data, 'id') ?? 'unknown'
  const person = subject?.startsWith('person-') ? subject : undefined
  return tokenId ?? textIn(data, 'serviceAccount') ?? person ?? 'unknown'
}

/** Form of an e-mail address in OCSF. */
const EMAIL = /^[\w!#$%&'*+\-/=?^`{|}~.]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+$/

/** E-mail address of an opened profile; undefined if it does not have the form of OCSF. */
const addressIn = (opened: OpenedFields | undefined): string | undefined => {
  const profile = opened?.['/data/profile']
  const value = profile?.status === 'open' ? profile.value : undefined
  const attributes = value !== null && typeof value === 'object' ? (value as Data) : undefined
  const address = textIn(attributes, 'oidc.email') ?? textIn(attributes, 'codehost.email')
  return address !== undefined && EMAIL.test(address) ? address : undefined
}

/** Client address of an opened envelope. */
const clientIn = (opened: OpenedFields | undefined): object => {
  const ip = opened?.['/meta/ip']
  const address = ip?.status === 'open' && typeof ip.value === 'string' && isIP(ip.value) > 0 ? ip.value : undefined
  return address === undefined ? {} : { src_endpoint: { ip: address } }
}

/** Type of the user that sent a command. */
const actorTypeOf = ({ kind, method }: IndexedEvent['fields']['actor']): number => {
  if (kind === 'token') return method === 'orchestrator' ? SYSTEM : USER
  return kind === 'operator' ? ADMIN : kind === 'system' ? SYSTEM : UNKNOWN_USER
}

/** Members of the class Authentication. */
const authenticationOf = (event: IndexedEvent, origin: string, opened: OpenedFields | undefined): object => {
  const { type, data } = event.fields
  const method = methodOf(event)
  const count = type === 'RefusalsSummarised' && typeof data?.['total'] === 'number' ? data['total'] : undefined
  return {
    user: {
      uid: userIdOf(event),
      type_id: method === 'orchestrator' ? SYSTEM : USER,
      email_addr: addressIn(opened),
    },
    service: { name: 'rollcall', uid: origin },
    ...(type === 'RefusalsSummarised'
      ? { count, start_time: msOf(data, 'from'), end_time: msOf(data, 'to') }
      : protocolOf(method)),
  }
}

/** True for an event of the class Authentication: a login, an exchange, or refusals. */
const isAuthentication = ({ type, method }: IndexedEvent['fields']): boolean =>
  REFUSALS.has(type) || (type === 'TokenIssued' && method !== undefined && method !== 'token')

/**
 * JSON text of an event of the ledger `origin` in OCSF 1.8.0 (api.md §16.17); undefined for an event that OCSF exports
 * leave out. Opened personal data give the client address and the e-mail address.
 */
export const ocsfEvent = (event: IndexedEvent, origin: string, opened?: OpenedFields): string | undefined => {
  const { index, record, fields } = event
  const { type, category, namespace, outcome, actor, meta, data } = fields
  if (LEFT_OUT.has(type)) return undefined
  const isLogon = isAuthentication(fields)
  const [classUid, activity] = isLogon ? [AUTHENTICATION, LOGON] : [ENTITY_MANAGEMENT, activityOf(type)]
  const isSuccess = outcome === 'success'
  return JSON.stringify({
    metadata: {
      version: OCSF,
      product: { name: 'Rollcall', vendor_name: 'Rollcall', version },
      uid: record.id,
      sequence: index,
      event_code: record.type,
      correlation_uid: meta?.correlationId,
      log_name: origin,
    },
    time: Date.parse(record.time),
    category_uid: IAM,
    class_uid: classUid,
    activity_id: activity,
    type_uid: classUid * 100 + activity,
    severity_id: isSuccess ? 1 : 2,
    status_id: isSuccess ? 1 : 2,
    status_detail: isSuccess ? undefined : textIn(data, 'reason'),
    message: summaryOfEvent(fields, record),
    actor: { user: { uid: actor.id ?? actor.kind, type_id: actorTypeOf(actor) } },
    ...(isLogon
      ? authenticationOf(event, origin, opened)
      : { entity: { type: category, uid: record.stream.slice(category.length + 1) } }),
    ...clientIn(opened),
    unmapped: {
      stream: record.stream,
      revision: Number(record.revision),
      position: String(record.position),
      namespace,
    },
  })
}
