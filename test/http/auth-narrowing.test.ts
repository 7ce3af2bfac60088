import t from 'tap'
import { BUILT_IN } from '../../src/access/roles.ts'
import { isRefusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { type Execute, executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import { narrowing } from '../../src/http/login/narrowing.ts'
import { memoryLog } from '../memory-log.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const NOW = '2026-01-01T00:00:00.000Z'
const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const system = { actor: { kind: 'system' } } as const
const viewer = { grants: [{ place: '*', role: 'viewer' }], roles: { viewer: ['flag.read'] } }
const editors = {
  name: 'own',
  method: 'orchestrator',
  namespaces: ['shop'],
  serviceAccounts: ['*'],
  grants: [{ place: 'shop', role: 'editor' }],
} as const

/**
 * Exchange of an account of `namespace` under rules that grant only in `shop`; `meanwhile` runs between each read of
 * the token and its decision.
 */
const started = async (meanwhile: (execute: Execute, time: number) => unknown, namespace = 'shop') => {
  const log = memoryLog()
  const { execute } = executor(
    log,
    enveloper(clear, 'test', () => new Date(NOW)),
    { clock: { sleep: async () => undefined }, format: () => FORMAT },
  )
  const attributes = { 'orchestrator.namespace': namespace, 'orchestrator.serviceaccount.name': 'web' }
  const issued = { id: ID, digest: 'k.x', method: 'orchestrator', issuedAt: NOW, expiresAt: '2026-01-02T00:00:00.000Z' }
  await execute(token, ID, 'IssueToken', { ...issued, attributes, metadata: {}, policy: 0 } as never, system)
  let times = 0
  const narrow = narrowing({
    log,
    sealer: clear,
    execute: async (...asked) => {
      await meanwhile(execute, ++times)
      return execute(...asked)
    },
    applied: async () => undefined,
    access: { rules: [editors], unmatched: 'refuse', assumeVerified: [], roles: BUILT_IN, requireRole: false },
    number: async () => 1,
  })
  return { narrow, times: () => times, told: () => log.all.slice(1).map(({ type }) => type), log }
}

/** Shortens the expiry by a further minute each time. */
const cut = (execute: Execute, time: number) =>
  execute(
    token,
    ID,
    'ExpireTokenEarlier',
    { id: ID, expiresAt: `2026-01-01T12:${59 - time}:00.000Z`, now: NOW },
    system,
  )
const once = (what: (execute: Execute, time: number) => unknown) => (execute: Execute, time: number) =>
  time === 1 ? what(execute, time) : undefined

await t.test('if a token changes while its grants are reduced, the decision is repeated', async (t) => {
  const narrowed = await started(once(cut))
  t.equal(await narrowed.narrow(ID), 'narrowed')
  t.same(narrowed.told(), ['TokenExpiryChanged', 'TokenGrantsNarrowed'])
  t.match(JSON.parse(narrowed.log.all.at(-1)!.data), {
    to: { grants: [{ place: 'shop', role: 'editor', rule: 'own' }] },
    policy: 1,
  })

  const ended = await started(once(cut), 'other')
  t.equal(await ended.narrow(ID), 'ended')
  t.same(ended.told(), ['TokenExpiryChanged', 'TokenRevoked'], 'so is one that nothing is left of')
})

await t.test('a token keeps the grants to which a later configuration has reduced them', async (t) => {
  const later = (execute: Execute) => execute(token, ID, 'NarrowGrants', { id: ID, to: viewer, policy: 2 }, system)
  const { narrow, times, told } = await started(later)
  t.equal(await narrow(ID), 'narrowed')
  t.same([times(), told()], [1, ['TokenGrantsNarrowed']])
  t.equal(await narrow(ID), 'narrowed')
  t.same([times(), told()], [1, ['TokenGrantsNarrowed']], 'and whenever it is asked about')
})

await t.test('a token that ends while its grants are reduced is reported as ended', async (t) => {
  const { narrow, times, told } = await started((execute) => execute(token, ID, 'RevokeToken', { id: ID }, system))
  t.equal(await narrow(ID), 'ended')
  t.same([times(), told()], [1, ['TokenRevoked']])
})

await t.test('if a token changes again and again while its grants are reduced, nothing is written', async (t) => {
  const { narrow, times, told } = await started(cut)
  await narrow(ID).then(
    () => t.fail('it is not decided from what it was'),
    (error: unknown) => t.ok(isRefusal(error, 'revision_moved')),
  )
  t.equal(times(), 5)
  t.same(new Set(told()), new Set(['TokenExpiryChanged']))
})

await t.test('concurrent requests with one token share the decision about its grants', async (t) => {
  const { narrow, times, told } = await started(() => undefined)
  t.same(await Promise.all([narrow(ID), narrow(ID), narrow(ID)]), ['narrowed', 'narrowed', 'narrowed'])
  t.same([times(), told()], [1, ['TokenGrantsNarrowed']])
})
