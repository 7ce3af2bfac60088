import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { login } from '../../src/commands/login.ts'
import { foldAfter, unwritten } from '../../src/commands/stream-folds.ts'
import type { LoginEvent } from '../../src/events/login.ts'
import { given } from '../given.ts'
import { memoryLog } from '../memory-log.ts'
import { context, instance } from './world.ts'

const history = given(login)
const began = {
  login: 'l1',
  method: 'oidc',
  provider: 'acme',
  startedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-01T00:10:00.000Z',
} as const
const now = '2026-01-01T00:01:00.000Z'
const started = { type: 'LoginStarted', data: began } as const
const returned = { type: 'LoginReturned', data: { login: 'l1', returnedAt: now } } as const
const completed = { type: 'LoginCompleted', data: { login: 'l1', tokenId: 't1', subject: 'person-a' } } as const
const refused = {
  type: 'LoginRefused',
  data: { login: 'l1', reason: 'provider_error', providerError: 'access_denied' },
} as const
const ended = [completed, refused]

await t.test('the first callback of a login is accepted, and later ones are refused', async () => {
  history()
    .when('ReturnToLogin', { ...began, now })
    .then(started, returned)
  for (const past of [[started], [started, returned], ...ended.map((end) => [started, returned, end])])
    history(...past)
      .when('ReturnToLogin', { ...began, now })
      .refused('login_replayed', 'login was already used')
})

await t.test('a callback at or after the expiry of its login is refused', async () => {
  const at = (now: string) => ({ ...began, now })
  history()
    .when('ReturnToLogin', at('2026-01-01T00:09:59.999Z'))
    .then(started, {
      type: 'LoginReturned',
      data: { login: 'l1', returnedAt: '2026-01-01T00:09:59.999Z' },
    })
  history().when('ReturnToLogin', at(began.expiresAt)).refused('login_expired', 'login has expired')
  history(started, returned).when('ReturnToLogin', at(began.expiresAt)).refused('login_expired')
})

await t.test('a login that returned from the provider completes once', async () => {
  history(started, returned).when('CompleteLogin', completed.data).then(completed)
  history(started, returned, completed).when('CompleteLogin', completed.data).then()
  for (const past of [[], [started], [started, returned, refused]])
    history(...past)
      .when('CompleteLogin', completed.data)
      .refused('login_replayed')
})

await t.test('a login that returned from the provider is refused once, and then stays unchanged', async () => {
  history(started, returned).when('RefuseLogin', refused.data).then(refused)
  for (const end of ended) history(started, returned, end).when('RefuseLogin', refused.data).then()
  history().when('RefuseLogin', refused.data).then()
  history(started).when('RefuseLogin', refused.data).then()
})

await t.test('a login exists after its first event', async (t) => {
  const exists = (...events: readonly LoginEvent[]) => login.exists(history(...events).state, completed.data)
  t.notOk(exists())
  t.ok(exists(started))
  t.ok(exists(started, returned, refused))
})

await t.test('the next command of a login reads its events only after a conflict', async (t) => {
  const steps: string[] = []
  const log = memoryLog({ pause: async (what) => void steps.push(what.split(' ')[0]!) })
  const { execute } = instance(log)
  const left = foldAfter(await execute(login, 'l1', 'ReturnToLogin', { ...began, now }, context))
  t.match(left, { state: { status: 'returned' }, changes: 2n, at: 1n })
  const outcome = await execute(login, 'l1', 'CompleteLogin', completed.data, context, left)
  t.strictSame([outcome.revision, steps], [3n, ['read', 'append', 'append']])
  t.equal(foldAfter(await execute(login, 'l1', 'CompleteLogin', completed.data, context)), undefined, 'nothing written')
  const again = execute(login, 'l1', 'ReturnToLogin', { ...began, now }, context, unwritten(login))
  await t.rejects(again, new Refusal('login_replayed'))
})
