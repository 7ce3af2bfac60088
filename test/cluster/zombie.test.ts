import { startService } from '../start.ts'
import { type Answer, becomes as becomesThere, issue as issueThere, present, serve } from './builds.ts'
import { FLAGS, names, onStack } from './restoring.ts'
import { becomes, issue, known, revoke, sleep } from './revoking.ts'

const held = (page: string) => Number(/^rollcall_view_lease_held (\d)$/m.exec(page)?.[1])
const until = async (holds: () => Promise<boolean>): Promise<boolean> => {
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(50)) if (await holds()) return true
  return false
}

await onStack(
  'an instance that slept while it tended the read models wakes up as one of many, and honours nothing that was revoked meanwhile',
  async (t, stack) => {
    const settings = { ...stack.settings, 'rate_limit.enabled': 'false' }
    const sleeper = await serve(t, present, settings)
    const page = async () => (await sleeper.request('GET', '/metrics')).text
    t.ok(await until(async () => held(await page()) === 1), 'it tends the read models')
    const b = await startService(t, settings)
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
    t.ok(await until(async () => held(await b.metrics()) === 1), 'another takes its place')
    await revoke(b, id)
    for (const name of ['one', 'two', 'after']) t.equal(await rename(name), 200)
    t.ok(await until(async () => (await names(b))[0] === 'after'))
    // Longer than a proof of freshness lasts: what it would let in it must not.
    await sleep(2_000)
    sleeper.freeze(false)
    for (let n = 0; n < 40; n++, await sleep(20)) ask()
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status))
    t.notOk(statuses.has(200), `${[...statuses].join(', ')}, and never 200`)

    t.ok(await becomesThere(sleeper, token, 401))
    t.equal(held(await page()), 0, 'it does not tend them any more')
    t.equal(held(await b.metrics()), 1)
    t.equal(await rename('last'), 200)
    t.ok(await until(async () => (await names(b))[0] === 'last'))
    const listed = async () => JSON.stringify((await sleeper.request('GET', FLAGS)).json['flags'])
    t.ok(await until(async () => (await listed()).includes('"name":"last"')), 'its lists are those of all')
    const made = await issue(b)
    t.ok(await becomesThere(sleeper, made.bearer.authorization.slice('Bearer '.length), 200))
  },
)
