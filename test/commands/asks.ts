import fc from 'fast-check'
import type { RefusalCommands } from '../../src/commands/deployment.ts'
import type { FlagChange, FlagCommands } from '../../src/commands/flag/flag.ts'
import type { LoginCommands } from '../../src/commands/login.ts'
import type { MembershipCommands } from '../../src/commands/membership.ts'
import type { NamespaceCommands } from '../../src/commands/namespace.ts'
import type { SegmentChange, SegmentCommands } from '../../src/commands/segment.ts'
import type { TokenCommands } from '../../src/commands/token.ts'
import type { Constraint } from '../../src/events/segment.ts'

/** Arbitraries for the commands of a category. The table covers all commands, so that the laws test each of them. */
export type Asks<C> = { readonly [K in keyof C]: fc.Arbitrary<C[K]> }

const one = (...texts: readonly string[]) => fc.constantFrom(...texts)
const text = one('', 'a', 'b')
const time = one('2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z')
const none: ReadonlySet<string> = new Set()

/** Two incarnations of the namespace, in this order only. */
const life = fc.oneof(
  { weight: 30, arbitrary: fc.constant({ incarnation: 'life-1', generation: 1 }) },
  { weight: 1, arbitrary: fc.constant({ incarnation: 'life-2', generation: 2 }) },
)
const of = <T extends object>(key: string, rest: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc
    .tuple(life, fc.record(rest))
    .map(([{ incarnation }, fields]) => ({ namespace: 'ns', key, incarnation, ...(fields as T) }))

const segments = fc.array(one('s', 'q', 'z'), { minLength: 1, maxLength: 4 })
const reservations = fc.constant(['s', 'q', 'z'].map((segment) => ({ segment, reservation: `reservation-${segment}` })))
const operator = fc.constantFrom('or' as const, 'and' as const)
const percent = fc.constantFrom(0, 12.5, 33.33, 50, 70)
const id = one('1', '2')
const ids = fc.uniqueArray(id, { minLength: 2 })
const rank = fc.constantFrom(0, 0, 1, 2, 7)
const variant = fc.record({ id, key: one('x', 'y', 'z'), name: text, description: text, attachment: text })
const distribution = fc.record({ id, variantId: id, rollout: percent })
/** Ids are unique, as in requests. */
const distributions = fc.array(fc.record({ id: fc.noShrink(fc.uuid()), variantId: id, rollout: percent }), {
  maxLength: 4,
})
/** A subset of the members, with all others. */
const some = <O extends string, T extends object, A extends object = object>(
  op: O,
  members: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
  others: { readonly [K in keyof A]: fc.Arbitrary<A[K]> } = {} as never,
) =>
  fc
    .tuple(fc.record(members, { requiredKeys: [] }), fc.record(others))
    .map(([given, all]) => ({ op, ...(given as Partial<T>), ...(all as A) }))
const partGiven = fc.oneof(
  fc.record(
    { type: fc.constant('threshold' as const), percentage: percent, value: fc.boolean() },
    { requiredKeys: ['type'] },
  ),
  fc.record(
    { type: fc.constant('segment' as const), segments, operator, value: fc.boolean() },
    { requiredKeys: ['type'] },
  ),
)
const part: fc.Arbitrary<FlagCommands['AddRollout']['part']> = fc.oneof(
  fc.record({ type: fc.constant('threshold' as const), percentage: percent, value: fc.boolean() }),
  fc.record({ type: fc.constant('segment' as const), segments, operator, value: fc.boolean() }),
)

const flagChange: fc.Arbitrary<FlagChange> = fc.oneof(
  some('UpdateFlag', {
    name: text,
    description: text,
    enabled: fc.boolean(),
    metadata: fc.dictionary(text, text),
    defaultVariantId: one('', '1', '2'),
  }),
  variant.map((variant) => ({ op: 'AddVariant', ...variant }) as const),
  some('UpdateVariant', { key: one('x', 'y', 'z'), name: text, description: text, attachment: text }, { id }),
  fc.record({
    op: fc.constantFrom('RemoveVariant' as const, 'RemoveRule' as const, 'RemoveRollout' as const),
    id,
  }),
  fc.record({ op: fc.constant('AddRule' as const), id, segments, operator, distributions }),
  some('UpdateRule', { segments, operator, distributions }, { id }),
  fc.record({ op: fc.constantFrom('OrderRules' as const, 'OrderRollouts' as const), ids }),
  fc.record({ op: fc.constant('AddRollout' as const), id, description: text, part }),
  some('UpdateRollout', { description: text, part: partGiven }, { id }),
)
export const flagChanges = fc.array(flagChange, { minLength: 1, maxLength: 6 })

export const flagAsks: Asks<FlagCommands> = {
  CreateFlag: fc
    .record({
      reservation: one('reservation-1', 'reservation-2'),
      name: text,
      description: text,
      enabled: fc.boolean(),
      metadata: fc.dictionary(text, text),
    })
    .chain((fields) => life.map((of) => ({ namespace: 'ns', key: 'f', type: 'variant' as const, ...of, ...fields }))),
  UpdateFlag: of('f', {
    name: text,
    description: text,
    enabled: fc.boolean(),
    metadata: fc.option(fc.dictionary(text, text), { nil: undefined }),
    defaultVariantId: fc.option(id, { nil: undefined }),
  }),
  DeleteFlag: life.map(({ incarnation }) => ({ namespace: 'ns', key: 'f', incarnation })),
  VoidReservation: of('f', { reservation: one('reservation-1', 'reservation-s', 'reservation-q') }),
  AddVariant: of('f', { variant }),
  UpdateVariant: of('f', { variant }),
  RemoveVariant: of('f', { id }),
  AddRule: of('f', { id, rank, segments, operator, reservations }),
  UpdateRule: of('f', { id, segments, operator, reservations }),
  RemoveRule: of('f', { id }),
  OrderRules: of('f', { ids }),
  AddDistribution: of('f', { rule: id, distribution }),
  UpdateDistribution: of('f', { rule: id, distribution }),
  RemoveDistribution: of('f', { rule: id, id, variantId: id }),
  AddRollout: of('f', { id, rank, description: text, part, reservations }),
  UpdateRollout: of('f', { id, description: text, part, reservations }),
  RemoveRollout: of('f', { id }),
  OrderRollouts: of('f', { ids }),
  ChangeFlag: of('f', { changes: flagChanges, reservations }),
}

const constraint = fc.record({
  id,
  type: fc.constantFrom('string' as const, 'number' as const),
  property: text,
  operator: one('eq', 'neq'),
  value: text,
  description: text,
})
const matchType = fc.constantFrom('all' as const, 'any' as const)

const segmentChange: fc.Arbitrary<SegmentChange> = fc.oneof(
  some('UpdateSegment', { name: text, description: text, matchType }),
  constraint.map((constraint) => ({ op: 'AddConstraint', constraint }) as const),
  fc
    .tuple(id, text)
    .map(
      ([id, value]) => ({ op: 'UpdateConstraint', id, to: (present: Constraint) => ({ ...present, value }) }) as const,
    ),
  fc.record({ op: fc.constant('RemoveConstraint' as const), id }),
)
export const segmentChanges = fc.array(segmentChange, { minLength: 1, maxLength: 6 })

export const segmentAsks: Asks<SegmentCommands> = {
  CreateSegment: fc
    .record({ name: text, description: text, matchType })
    .chain((fields) => life.map((of) => ({ namespace: 'ns', key: 's', ...of, ...fields }))),
  UpdateSegment: of('s', { name: text, description: text, matchType }),
  DeleteSegment: of('s', { stale: fc.constantFrom(none, new Set(['u1'])) }),
  AddConstraint: of('s', { constraint }),
  UpdateConstraint: of('s', { constraint }),
  RemoveConstraint: of('s', { id }),
  AttachSegment: of('s', { flag: one('f', 'g'), reservation: one('u1', 'u2'), reservedAt: time }),
  DetachSegment: of('s', { reservation: one('u1', 'u2') }),
  ChangeSegment: of('s', { changes: segmentChanges }),
}

const ns = fc.constant('ns')

export const namespaceAsks: Asks<NamespaceCommands> = {
  CreateNamespace: fc.record({
    key: ns,
    incarnation: one('life-1', 'life-2'),
    name: text,
    description: text,
    protected: fc.boolean(),
  }),
  UpdateNamespace: fc.record({ key: ns, name: text, description: text }),
  DeleteNamespace: fc.record({ key: ns, force: fc.boolean(), stale: fc.constantFrom(none, new Set(['u1'])) }),
  RegisterFlag: fc.record({ key: ns, flag: one('f', 'g'), reservation: one('u1', 'u2'), reservedAt: time }),
  UnregisterFlag: fc.record({ key: ns, reservation: one('u1', 'u2') }),
}

const token = fc.constant('t1')
const issue = { id: token, digest: text, method: fc.constant('token' as const), issuedAt: time }
const texts = fc.dictionary(one('token.name', 'a'), text)

const access = fc.record({
  grants: fc.array(fc.record({ place: one('*', 'shop'), role: one('viewer') }), { minLength: 1, maxLength: 2 }),
  roles: fc.constant({ viewer: ['flag.read'] }),
})

export const tokenAsks: Asks<TokenCommands> = {
  IssueToken: fc
    .record(
      { ...issue, attributes: texts, metadata: texts, expiresAt: time },
      { requiredKeys: ['id', 'digest', 'method', 'issuedAt', 'attributes', 'metadata'] },
    )
    .map((issued) => issued),
  NarrowGrants: fc.record(
    { id: token, from: access, to: access, policy: fc.nat(3) },
    { requiredKeys: ['id', 'to', 'policy'] },
  ),
  ExpireTokenEarlier: fc.record({ id: token, expiresAt: time, now: time }),
  RevokeToken: fc.record({ id: token }),
  CleanUpToken: fc.record({ id: token, before: time }),
}

const began = { login: fc.constant('l1'), method: fc.constantFrom('oidc' as const, 'codehost' as const) }

export const loginAsks: Asks<LoginCommands> = {
  ReturnToLogin: fc.record(
    { ...began, provider: one('google', 'acme'), startedAt: time, expiresAt: time, now: time },
    { requiredKeys: ['login', 'method', 'startedAt', 'expiresAt', 'now'] },
  ),
  CompleteLogin: fc.record({ login: began.login, tokenId: one('t1', 't2'), subject: one('person-a') }),
  RefuseLogin: fc.record(
    { login: began.login, reason: one('code_refused', 'provider_error'), providerError: text },
    { requiredKeys: ['login', 'reason'] },
  ),
}

const span = { from: time, to: time, total: fc.nat(9) }
const counts = fc.dictionary(one('credential_invalid', 'rate_limited'), fc.nat(9))
const refused = fc.record({
  reason: one('credential_invalid', 'token_scoped'),
  refusedAt: time,
  route: text,
  requestId: text,
  more: fc.nat(9),
})

export const refusalAsks: Asks<RefusalCommands> = {
  RecordRefusals: fc.record(
    {
      refusals: fc.array(refused, { maxLength: 2 }),
      summary: fc.record({ ...span, byReason: counts, byRoute: counts, subject: text, networks: text }),
      begun: fc.record({ ...span, byWay: fc.dictionary(one('codehost', 'oidc/google'), fc.nat(9)) }),
    },
    { requiredKeys: ['refusals'] },
  ),
}

const instance = one('a-1', 'b-2', 'c-3')
export const membershipAsks: Asks<MembershipCommands> = {
  Join: fc.record({ instance, reads: fc.integer({ min: 1, max: 3 }), version: text, complete: fc.boolean() }),
  Probe: fc.record({ instance }),
  EvictUnresponsive: fc.record({ instance, probe: fc.nat(3) }),
  Leave: fc.record({ instance }),
}
