import t from 'tap'
import { BUILT_IN } from '../../src/access/roles.ts'
import type { AccessPolicy } from '../../src/access/rules.ts'
import { configuredAccess, toldAccess } from '../../src/app/features/access-policy.ts'
import { pseudonyms } from '../../src/auth/pseudonyms.ts'
import { systemClock } from '../../src/base/clock.ts'
import { isRefusal, Refusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { memoryLog } from '../memory-log.ts'

const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const names = pseudonyms(Buffer.alloc(32, 7))
const ofClaim = (name: string, claim: string, ...anyOf: string[]) =>
  ({
    name,
    method: 'oidc',
    provider: 'corp',
    claim,
    anyOf,
    grants: [{ place: '*', role: 'viewer' }],
  }) as const
const policy: AccessPolicy = {
  rules: [ofClaim('ann', 'email', 'ann@example.org'), ofClaim('devs', '/realm_access/roles', 'dev')],
  unmatched: 'refuse',
  assumeVerified: [],
  roles: BUILT_IN,
  requireRole: false,
}
const config = {
  authentication: { required: true, exclude: { management: false, evaluation: true, ofrep: false } },
} as Parameters<typeof configuredAccess>[1]

const begin = (log: ReturnType<typeof memoryLog>, format: () => number, asked: AccessPolicy = policy) => {
  const listeners: (() => void)[] = []
  const [lines, errors]: [string[], unknown[]] = [[], []]
  const tell = (_: object, line: string) => void lines.push(line)
  const { execute } = executor(
    log,
    enveloper(clear, 'test', () => new Date(0)),
    { clock: systemClock, format },
  )
  const told = toldAccess({
    execute,
    configured: configuredAccess(asked, config, names),
    onFormat: (listener) => void listeners.push(listener),
    logger: { info: tell, warn: tell } as never,
    onError: (error) => errors.push(error),
  })
  return { ...told, lines, errors, changed: () => listeners.forEach((listener) => listener()) }
}

await t.test('the recorded access configuration contains pseudonyms instead of names of people', (t) => {
  const of = (claim: string, ...values: string[]) =>
    configuredAccess({ ...policy, rules: [ofClaim('x', claim, ...values)] }, config, names).rules[0]!.anyOf
  for (const claim of ['email', '/email', 'name', 'preferred_username', 'sub', '/sub'])
    t.match(of(claim, 'ann', 'bob'), [/^(claim|sub)-[\w-]{22}$/, /^(claim|sub)-[\w-]{22}$/], claim)
  t.same(of('sub', 'ann'), [names.identity('oidc', 'ann')], 'as the tokens of that person are found by')
  t.same(of('email', 'ann'), of('/email', 'ann'))
  t.notSame(of('email', 'ann'), of('email', 'bob'))
  t.same(of('/realm_access/roles', 'dev'), ['dev'])
  t.match(configuredAccess(policy, config, names), {
    required: true,
    exclude: { evaluation: true },
    roles: { client: ['flag.evaluate'] },
  })
  t.notMatch(JSON.stringify(configuredAccess(policy, config, names)), /ann@/)
  t.end()
})

await t.test('the access configuration is recorded once, and again when it changes', async (t) => {
  const log = memoryLog()
  const first = begin(log, () => 2)
  await first.begin()
  t.same([await first.number(), first.known(), log.all.length], [0, 0, 1])
  const again = begin(log, () => 2, { ...policy, rules: policy.rules.toReversed() })
  await again.begin()
  t.same([await again.number(), log.all.length], [0, 1])
  const other = begin(log, () => 2, { ...policy, rules: [] })
  await other.begin()
  t.same([await other.number(), await first.number(), log.all.length], [1, 0, 2])
})

await t.test('a login waits while an instance that cannot read the access configuration is running', async (t) => {
  const log = memoryLog()
  let format = 1
  const waiting = begin(log, () => format)
  await waiting.begin()
  t.match(waiting.lines, [/until then logins and exchanges are refused/])
  waiting.changed()
  await t.rejects(waiting.number(), new Refusal('release_in_progress'))
  t.same([waiting.known(), log.all.length], [undefined, 0])
  format = 2
  waiting.changed()
  t.equal(await waiting.number(), 0)
  waiting.changed()
  t.same([waiting.known(), log.all.length, waiting.errors], [0, 1, []])
})

await t.test('a store that is unreachable is reported, and the next request tries again', async (t) => {
  const log = memoryLog()
  let away = true
  const append: typeof log.append = async (...asked) => {
    if (away) throw new Refusal('backend_unavailable')
    return log.append(...asked)
  }
  const here = begin({ ...log, append }, () => 2)
  await here.begin().then(
    () => t.fail('a start does not go on'),
    (error: unknown) => t.ok(isRefusal(error, 'backend_unavailable')),
  )
  away = false
  t.equal(await here.number(), 0)
})
