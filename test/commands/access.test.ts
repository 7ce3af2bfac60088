import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { ACCESS, access } from '../../src/commands/deployment.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import type { AccessEvent } from '../../src/events/access.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import type { DataOf } from '../../src/events/define.ts'
import { given } from '../given.ts'
import { memoryLog } from '../memory-log.ts'

type Configured = DataOf<AccessEvent, 'AccessConfigured'>
const configured: Configured = {
  version: '1.0.0',
  required: true,
  exclude: { management: false, evaluation: false, ofrep: false },
  requireRole: false,
  roles: { client: ['flag.evaluate'] },
  rules: [
    { name: 'a', method: 'codehost', organizations: ['acme'], grants: [{ place: '*', role: 'client' }] },
    { name: 'b', method: 'codehost', teams: ['acme/shop'], grants: [{ place: 'shop', role: 'client' }] },
  ],
}
const told = (data: Configured) => ({ type: 'AccessConfigured', data }) as const
const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'system' } } as const

await t.test('an access configuration is recorded if it differs from the last one', async () => {
  const history = given(access)
  history().when('ConfigureAccess', configured).then(told(configured))
  history(told(configured)).when('ConfigureAccess', configured).then()
  history(told(configured))
    .when('ConfigureAccess', { ...configured, version: '2.0.0', rules: configured.rules.toReversed() })
    .then()
  const others: readonly Configured[] = [
    { ...configured, required: false },
    { ...configured, exclude: { ...configured.exclude, ofrep: true } },
    { ...configured, roles: { client: ['flag.evaluate'], own: ['flag.read'] } },
    { ...configured, rules: configured.rules.slice(1) },
    { ...configured, unmatched: [{ place: '*', role: 'client' }] },
  ]
  for (const other of others) {
    history(told(configured)).when('ConfigureAccess', other).then(told(other))
    history(told(configured), told(other)).when('ConfigureAccess', configured).then(told(configured))
  }
})

await t.test('concurrent starts record an access configuration once', async (t) => {
  const log = memoryLog()
  const begin = (format = FORMAT, what = configured) =>
    executor(
      log,
      enveloper(clear, 'test', () => new Date(0)),
      { clock: { sleep: async () => undefined }, format: () => format },
    ).execute(access, ACCESS, 'ConfigureAccess', what, context)
  await t.rejects(begin(1), new Refusal('release_in_progress'), 'while an instance lives that does not read it')
  const all = await Promise.all(Array.from({ length: 5 }, async () => begin()))
  t.equal(log.all.length, 1)
  t.strictSame(
    all.map(({ state }) => state.events),
    [1, 1, 1, 1, 1],
  )
  const later = { id: 'x', type: 'AccessConfigured.v9', time: new Date(0).toISOString(), data: '{}', meta: '{}' }
  await log.append('access-main', [later], 0n)
  const { state, stored } = await begin()
  t.strictSame([state.events, stored.at(-1)?.revision], [3, 2n])
})
