import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { catalog } from '../../src/events/catalog.ts'
import { type Shape, type Shapes, typeName, wireNames } from '../../src/events/define.ts'
import { ocsfEvent } from '../../src/history/ocsf.ts'
import type { OpenedFields } from '../../src/history/opened-fields.ts'
import { indexedEvent } from '../../src/verifier/export/event-fields.ts'

const root = resolve(import.meta.dirname, '../../../test')
const ORIGIN = 'flags.example/audit/v1/ledger/0a1b2c3d'
const ajv = new Ajv2020({ strict: false, allErrors: true })
const schemaOf = (name: string) =>
  ajv.compile(JSON.parse(readFileSync(resolve(root, `history/ocsf/${name}.json`), 'utf8')) as object)
/** The published classes of OCSF 1.8.0. */
const CLASSES = new Map([
  [3002, schemaOf('authentication')],
  [3004, schemaOf('entity-management')],
])

type Ocsf = {
  readonly class_uid: number
  readonly activity_id: number
  readonly status_id: number
  readonly user?: object
  readonly [member: string]: unknown
}

const categoryOf = new Map(
  Object.entries<Shapes>(catalog).flatMap(([category, shapes]) =>
    Object.entries(shapes).flatMap(([type, newest]) => {
      const names: string[] = []
      for (let shape: Shape | undefined = newest; shape; shape = shape.from) names.push(...wireNames(type, shape))
      return names.map((name) => [name, category] as const)
    }),
  ),
)

const META = {
  schema: 1,
  command: 'Test',
  instance: 'i-1',
  actor: { kind: 'token', id: randomUUID(), method: 'token' },
  correlationId: 'c-1',
}

const shown = (
  type: string,
  data: object | string,
  { meta = {}, opened }: { readonly meta?: object; readonly opened?: OpenedFields } = {},
): Ocsf | undefined => {
  const category = categoryOf.get(type) ?? 'other'
  const record = {
    id: randomUUID(),
    stream: `${category}-one-two`,
    revision: 2n,
    position: 10n,
    type,
    time: '2026-11-03T13:02:11.250Z',
    data: typeof data === 'string' ? data : JSON.stringify(data),
    meta: JSON.stringify({ ...META, ...meta }),
  }
  const json = ocsfEvent(indexedEvent(9, record), ORIGIN, opened)
  return json === undefined ? undefined : (JSON.parse(json) as Ocsf)
}

const faultsOf = (event: Ocsf): unknown => {
  const isValid = CLASSES.get(event.class_uid)!
  return isValid(event) ? [] : isValid.errors
}

await t.test('every event ever written is valid in its published class of OCSF 1.8.0, or left out', async (t) => {
  const folder = resolve(root, 'events/samples')
  const found: Record<string, string> = {}
  for (const file of readdirSync(folder)) {
    const [wire] = file.replace(/\.json$/, '').split('+', 1) as [string]
    const event = shown(wire, readFileSync(resolve(folder, file), 'utf8').trimEnd())
    found[typeName(wire)] = event ? `${event.class_uid}.${event.activity_id}` : '-'
    if (event) t.strictSame(faultsOf(event), [], file)
  }
  t.match(found, {
    FlagCreated: '3004.1',
    RolloutAdded: '3004.1',
    FlagUpdated: '3004.3',
    FlagDeleted: '3004.4',
    RolloutRemoved: '3004.4',
    TokenRevoked: '3004.4',
    TokenExpired: '3004.4',
    HistoryRead: '3004.2',
    HistoryExported: '3004.2',
    InstanceStarted: '3004.1',
    InstanceStopped: '3004.3',
    LedgerStarted: '3004.1',
    AccessConfigured: '3004.3',
    LoginRefused: '3002.1',
    AuthenticationRefused: '3002.1',
    RefusalsSummarised: '3002.1',
  })
  t.strictSame(
    Object.keys(found)
      .filter((type) => found[type] === '-')
      .sort(),
    [
      'FlagRegistered',
      'FlagUnregistered',
      'InstanceAnswered',
      'InstancesCalled',
      'LoginCompleted',
      'LoginReturned',
      'LoginStarted',
      'LoginsBegun',
      'MemberResponded',
      'MembersProbed',
      'ReservationVoided',
      'SegmentAttached',
      'SegmentDetached',
    ],
  )
})

await t.test('logins and refusals have the class Authentication, static tokens are entities', async (t) => {
  const token = { id: randomUUID(), digest: 'd', issuedAt: '2026-11-03T13:02:11.250Z', attributes: {}, metadata: {} }
  const issued = (more: object, opened?: OpenedFields) =>
    shown('TokenIssued', { ...token, ...more }, { ...(opened && { opened }) })!
  t.match(issued({ method: 'token' }), {
    class_uid: 3004,
    activity_id: 1,
    type_uid: 300_401,
    entity: { type: 'token', uid: 'one-two' },
  })
  t.match(issued({ method: 'oidc', subject: 'person-x', identity: 'i' }), {
    user: { uid: 'person-x', type_id: 1 },
    service: { name: 'rollcall', uid: ORIGIN },
    auth_protocol_id: 4,
    type_uid: 300_201,
  })
  t.match(issued({ method: 'codehost', identity: 'i' }), { user: { uid: 'i' }, auth_protocol_id: 6 })
  t.match(issued({ method: 'orchestrator' }), {
    user: { uid: token.id, type_id: 3 },
    auth_protocol_id: 99,
    auth_protocol: /Kubernetes/,
  })

  const refused = { reason: 'right_missing', refusedAt: token.issuedAt, route: '/api/v1/x', requestId: 'r', more: 0 }
  t.match(shown('AuthenticationRefused', { ...refused, tokenId: 'known' }), {
    user: { uid: 'known' },
    status_id: 2,
    severity_id: 2,
    status_detail: 'right_missing',
    auth_protocol: 'Bearer token',
  })
  t.match(shown('AuthenticationRefused', { ...refused, subject: 'network-2026-11-03' }), { user: { uid: 'unknown' } })
  const meta = { subject: 'person-y', route: '/auth/v1/method/oidc/:provider/callback' }
  t.match(shown('LoginRefused', { login: 'l', reason: 'state_mismatch' }, { meta }), {
    user: { uid: 'person-y' },
    auth_protocol_id: 4,
    status_detail: 'state_mismatch',
  })
  const [from, to] = ['2026-11-03T13:02:00.000Z', '2026-11-03T13:03:00.000Z']
  t.match(shown('RefusalsSummarised', { from, to, total: 57, byReason: {}, byRoute: {}, subject: 'network-x' }), {
    user: { uid: 'unknown' },
    count: 57,
    start_time: Date.parse(from),
    end_time: Date.parse(to),
    status_id: 2,
  })
})

await t.test('opened personal data fill address and e-mail address only in the forms of OCSF', async (t) => {
  const login = { id: randomUUID(), method: 'oidc', subject: 'person-x' }
  const withData = (ip: string, email: string) => {
    const opened = {
      '/meta/ip': { status: 'open', value: ip },
      '/data/profile': { status: 'open', value: { 'oidc.email': email } },
    } as const
    const event = shown('TokenIssued', login, { opened })!
    t.strictSame(faultsOf(event), [], `${ip} ${email}`)
    return event
  }
  t.match(withData('2001:db8::1', 'ada@people.example'), {
    src_endpoint: { ip: '2001:db8::1' },
    user: { email_addr: 'ada@people.example' },
  })
  for (const [ip, email] of [
    ['unknown', 'ada@localhost'],
    ['10.0.0.0/8', 'ädä@people.example'],
  ] as const) {
    const event = withData(ip, email)
    t.notOk('src_endpoint' in event)
    t.notOk('email_addr' in event.user!)
  }
  const erased = { '/meta/ip': { status: 'erased' }, '/data/profile': { status: 'lost' } } as const
  t.notMatch(JSON.stringify(shown('TokenIssued', login, { opened: erased })), /src_endpoint|email_addr/)
})

await t.test('an event that this version cannot read has a line too', async (t) => {
  for (const [type, data] of [
    ['TokenIssued.v9', { method: 'oidc' }],
    ['FlagMirrored', { namespace: 'shop' }],
    ['FlagMirrored', 'no JSON'],
    ['RefusalsSummarised', { total: 'many', from: 5 }],
  ] as const) {
    const event = shown(type, data)!
    t.strictSame(faultsOf(event), [], type)
  }
})
