import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clusterOf, withoutServers } from '../cluster/own.ts'
import { ownFaults } from '../late-servers.ts'
import { type Distance, linkTo } from '../stand-ins/proxy.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

const skip = withoutServers

/** Directory of a service whose MongoDB is behind a proxy. */
const behindLink = async (t: Test, distance?: Distance) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const { link, url } = await linkTo(t, (await clusterOf(directory))['mongodb.url']!, distance)
  const logged = async (what: RegExp) => what.test(await readFile(join(directory, 'log'), 'utf8').catch(() => ''))
  return { directory, link, settings: { 'mongodb.url': url }, logged }
}

await t.test(
  'a start waits for a late server and then completes, even if the clock does not advance',
  { skip },
  async (t) => {
    const { directory, link, settings, logged } = await behindLink(t)
    await link.set('refuse')
    const clock = virtualClock()
    const begun = clock.now().getTime()
    const starting = startService(t, settings, { directory, clock })
    await eventually(() => logged(/cannot start yet/), 'a start in vain')
    await link.set('pass')
    const { request } = await starting
    t.equal((await request('GET', '/api/v1/namespaces')).status, 200)
    t.equal(clock.now().getTime() - begun, 1, 'as late as any other start')
  },
)

await t.test('requests that were refused while MongoDB did not answer can be repeated', { skip }, async (t) => {
  const { directory, link, settings, logged } = await behindLink(t)
  const { request } = await startService(t, settings, { directory })
  await request('POST', '/auth/v1/method/token', { name: 'one' })
  await link.set('blackhole')
  const listing = request<{ totalCount: number }>('GET', '/auth/v1/tokens')
  await eventually(() => logged(/"reason":"(?:view_behind|backend_unavailable)"/), 'a list that is refused')
  await link.set('pass')
  const { status, json } = await listing
  t.strictSame([status, json.totalCount], [200, 2])
  const log = await readFile(join(directory, 'log'), 'utf8')
  t.strictSame(ownFaults(log), [], 'the log tells of no other fault')
})

/** Half of a round trip of 150 ms, and the time of the other five round trips of a connection with TLS and SCRAM. */
const FAR: Distance = { delay: 75, opening: 750 }

await t.test('starts, works and starts again at a round trip of 150 ms to MongoDB', { skip }, async (t) => {
  const { directory, settings } = await behindLink(t, FAR)
  const service = await startService(t, settings, { directory })
  const { request } = service
  t.equal((await request('POST', '/auth/v1/method/token', { name: 'one' })).status, 200)
  await service.reopen()
  const { status, json } = await request<{ totalCount: number }>('GET', '/auth/v1/tokens')
  t.strictSame([status, json.totalCount], [200, 2])
})
