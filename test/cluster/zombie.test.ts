import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { walkingClock } from '../walking-clock.ts'
import { type Answer, becomes as becomesThere, issue as issueThere, present, serve } from './builds.ts'
import { FLAGS, names, onStack } from './restoring.ts'
import { becomes, issue, known, revoke } from './revoking.ts'

const held = (page: string) => Number(/^rollcall_view_lease_held (\d)$/m.exec(page)?.[1])

await onStack('a suspended view writer resumes without the lease and accepts no revoked token', async (t, stack) => {
  const settings = { ...stack.settings, 'rate_limit.enabled': 'false' }
  const sleeper = await serve(t, present, settings)
  const page = async () => (await sleeper.request('GET', '/metrics')).text
  await eventually(async () => held(await page()) === 1, 'an instance that tends the read models')
  const b = await startService(t, settings, { clock: walkingClock(t) })
  const pageOfB = async () => (await b.request('GET', '/metrics')).text
  const rename = async (name: string) =>
    (await known(() => b.request('PUT', `${FLAGS}/f`, { key: 'f', name, type: 'BOOLEAN_FLAG_TYPE' }))).status
  const flag = { key: 'f', name: 'before', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await known(() => b.request('POST', FLAGS, flag))).status, 200)
  const { token, id } = await issueThere(sleeper, 'revoked while it sleeps')
  t.ok(await becomes(b, { authorization: `Bearer ${token}` }, 200))
  t.ok(await becomesThere(sleeper, token, 200))

  sleeper.freeze(true)
  const asked: Promise<Answer>[] = []
  const ask = () => void asked.push(sleeper.request('GET', '/auth/v1/self', undefined, token))
  for (let n = 0; n < 8; n++) ask()
  // This takes longer than the validity of a proof, so it must not accept old tokens.
  await eventually(async () => held(await pageOfB()) === 1, 'another that takes its place')
  await revoke(b, id)
  for (const name of ['one', 'two', 'after']) t.equal(await rename(name), 200)
  await eventually(async () => (await names(b))[0] === 'after', 'the last name')
  sleeper.freeze(false)
  await eventually(async () => {
    ask()
    const { status } = await asked.at(-1)!
    return status === 200 || status === 401
  }, 'an instance that is awake')
  const statuses = new Set((await Promise.all(asked)).map(({ status }) => status))
  t.ok(statuses.has(401))
  t.notOk(statuses.has(200), `${[...statuses].join(', ')}, and never 200`)

  t.equal(held(await page()), 0, 'it does not tend them any more')
  t.equal(held(await pageOfB()), 1)
  t.equal(await rename('last'), 200)
  await eventually(async () => (await names(b))[0] === 'last', 'the last name')
  const listed = async () => JSON.stringify((await sleeper.request('GET', FLAGS)).json['flags'])
  await eventually(async () => (await listed()).includes('"name":"last"'), 'a list of the sleeper as that of all')
  const made = await issue(b)
  t.ok(await becomesThere(sleeper, made.bearer.authorization.slice('Bearer '.length), 200))
})
