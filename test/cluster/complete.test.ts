import t from 'tap'
import type { Problem } from '../http/people.ts'
import { linkTo } from '../stand-ins/proxy.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { walkingClock } from '../walking-clock.ts'
import { issue, known } from './revoking.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
const REVOKE = '/auth/v1/tokens/revoke'

await t.test('tokens that were created on any instance are listed and revoked', { skip }, async (t) => {
  const { link, url } = await linkTo(t, stack!.settings['mongodb.url']!)
  const a = await startService(t, { ...stack!.settings, 'mongodb.url': url }, { clock: walkingClock(t) })
  const b = await startService(t, stack!.settings, { clock: walkingClock(t) })

  await t.test('an incomplete list is refused, and returned once the read models have all events', async (t) => {
    // Load the key that seals the caller's address from MongoDB first.
    t.equal((await a.request('POST', '/auth/v1/method/token', { name: 'first' })).status, 200)
    await link.set('blackhole')
    const made = await a.request<{ authentication: { id: string } }>('POST', '/auth/v1/method/token', {
      name: 'mallory',
    })
    t.equal(made.status, 200)
    const body = { method: 'METHOD_TOKEN', identity: 'mallory' }
    const answers: number[] = []
    await eventually(async () => {
      const listed = await b.request<{ totalCount: number } & Problem>('GET', '/auth/v1/tokens?identity=mallory')
      if (listed.status === 200) t.equal(listed.json.totalCount, 1)
      else
        t.match(listed.json, {
          message: /^view is behind position [0-9]+$/,
          details: [{ value: { reason: 'view_behind' } }],
        })
      const revoked = await b.request<{ revoked: number; completeTo: string }>('POST', REVOKE, body)
      answers.push(revoked.status)
      if (revoked.status === 503) t.match(revoked.headers, { 'retry-after': '1' })
      if (revoked.status === 503) return false
      t.match(revoked, { status: 200, json: { revoked: 1 } })
      t.ok(BigInt(revoked.json.completeTo) >= BigInt(String(made.headers['event-position'])))
      return true
    }, 'the end of all that the holder has')
    t.comment(`answered ${answers.join(' ')}`)
    await link.set('pass')
  })

  await t.test('a token created on one instance is in the list of the other', async (t) => {
    for (let n = 0; n < 10; n++) {
      const [maker, other] = n % 2 ? [a, b] : [b, a]
      const { id } = await issue(maker)
      const ask = () =>
        other.request<{ authentications: readonly { id: string }[] }>('GET', '/auth/v1/tokens?identity=n')
      const listed = await known(ask)
      t.equal(listed.status, 200)
      t.ok(listed.json.authentications.some((one) => one.id === id))
    }
  })
})
