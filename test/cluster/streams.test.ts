import t from 'tap'
import { draws } from '../draws.ts'
import { type Event, listening } from '../http/event-source.ts'
import { granted } from '../http/granted.ts'
import { linkTo } from '../stand-ins/proxy.ts'
import type { Started } from '../start.ts'
import { startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { controlling, startStack } from './stack.ts'

const BULK = '/ofrep/v1/evaluate/flags'
const CHANGES = 50
const REQUESTS_A_CHANGE = 20
/** Time in ms after which an instance that does not reach the event store has ended its streams. */
const BOUND = 3_000

type Bulk = {
  readonly flags: readonly unknown[]
  readonly eventStreams: readonly [{ readonly endpoint: { readonly requestUri: string } }]
}
const bulk = ({ request }: Started, query: string, headers: Readonly<Record<string, string | readonly string[]>>) =>
  request<Bulk>('POST', `${BULK}${query}`, { context: { targetingKey: 'e' } }, headers)

const { stack, skip } = await startStack(t)
await t.test('streams about flags of two instances', { skip }, async (t) => {
  const clocks = [virtualClock(), virtualClock()] as const
  const { link, url } = await linkTo(t, stack!.settings['eventstore.url']!)
  const a = await startService(t, stack!.settings, { clock: clocks[0] })
  const late = await startBeside(clocks, t, { ...stack!.settings, 'eventstore.url': url }, { clock: clocks[1] })
  const { headers } = await granted(a, { namespaceKey: 'default', role: 'client' })
  const { json } = await walking(clocks, () => bulk(a, '', headers))
  const { requestUri } = json.eventStreams[0].endpoint

  await t.test('a change on one instance reaches clients of both, and no bulk answer is older', async (t) => {
    const draw = draws(t)
    const streams = await Promise.all([a, late].map((each) => listening(t, each, requestUri)))
    const older: string[] = []
    let answers = 0
    const ask = async (instance: Started, flags: number, { id, data: { etag, lastModified } }: Event) => {
      const query = `?flagConfigEtag=${etag}&flagConfigLastModified=${lastModified}`
      const { status, json } = await bulk(instance, query, headers)
      answers++
      if (status !== 200 || json.flags.length < flags) older.push(`${status} ${json.flags?.length} at ${id}`)
    }
    for (let n = 1; n <= CHANGES; n++) {
      const writer = draw(0, 2) === 0 ? a : late
      if (writer === a) await link.set('blackhole')
      const body = { key: `f${n}`, name: `f${n}`, type: 'BOOLEAN_FLAG_TYPE' }
      const { headers } = await writer.request('POST', '/api/v1/namespaces/default/flags', body)
      const position = BigInt(String(headers['event-position']))
      /** The event about the change. Each instance joins the changes of 50 ms. */
      const told = (which: 0 | 1) =>
        eventually(async () => {
          await clocks[which].advance(50)
          return streams[which]!.events().find(({ id }) => BigInt(id) >= position)
        }, `the event about change ${n}`)
      const first = await told(writer === a ? 0 : 1)
      const asked = Array.from({ length: REQUESTS_A_CHANGE }, () => {
        const instance = draw(0, 2) === 0 ? a : late
        return { instance, answer: ask(instance, n, first) }
      })
      // The late instance receives the event only after these requests.
      await Promise.all(asked.flatMap(({ instance, answer }) => (instance === a ? answer : [])))
      await late.request('GET', '/livez')
      await link.set('pass')
      await Promise.all([...asked.map(({ answer }) => answer), told(0), told(1)])
    }
    t.equal(answers, CHANGES * REQUESTS_A_CHANGE)
    t.same(older, [], 'no answer is of an earlier state')
    const [last, other] = streams.map(({ events }) => events().at(-1))
    t.same(other, last, 'both instances announce the same state')
  })

  const notFresh = 'an instance that is not fresh ends its streams and refuses new ones'
  await controlling(t, stack!, { eventstore: 'ends and restarts it' }, notFresh, async (t, { eventstore }) => {
    const stream = await listening(t, a, requestUri)
    const { headers: engine } = await granted(a, { namespaceKey: 'default', role: 'server' })
    const path = '/client/v2/environments/default/namespaces/default/stream'
    const snapshots = await listening(t, a, path, engine as Readonly<Record<string, string>>)
    eventstore.kill()
    await clocks[0].advance(BOUND)
    await eventually(() => stream.isEnded() && snapshots.isEnded(), 'the end of the streams')
    t.ok(stream.isComplete() && snapshots.isComplete())
    t.match(await a.request('GET', requestUri), { status: 503, json: { errorCode: 'GENERAL' } })
    t.equal((await a.request('GET', path, undefined, engine)).status, 503)
    await eventstore.restart()
    await walking(clocks, () =>
      eventually(async () => (await listening(t, a, requestUri)).status === 200, 'a stream of a fresh instance'),
    )
  })
})
