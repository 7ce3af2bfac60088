import { request as send } from 'node:http'
import t from 'tap'
import { measureSlicesBy } from '../../src/base/event-loop.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'

const FLAGS = 1_000
/** Longer than any slice. */
const LONG_MS = 1_000

const names = Array.from({ length: FLAGS }, (_, n) => `f${n}`)
const bodies: Readonly<Record<string, object>> = {
  '/ofrep/v1/evaluate/flags': { context: { targetingKey: 'e', flags: ['on', ...names.slice(1)].join(',') } },
  '/evaluate/v1/batch': { requests: names.map(() => ({ flagKey: 'on' })) },
  '/api/v1/batch-evaluate': { requests: names.map(() => ({ flagKey: 'colour', entityId: 'e' })) },
}

/** Number of evaluated flags on a metrics page, including missing ones. */
const askedIn = (page: string): number =>
  [...page.matchAll(/^\w+_evaluations_requests_total\S* (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0)

await t.test('no further flag of a batch is evaluated once the client has disconnected', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.boolean('on', true)
  await make.variantFlag('colour')
  let [steps, onStep] = [0, () => {}]
  measureSlicesBy(() => {
    onStep()
    return ++steps * LONG_MS
  })
  let before = 0
  for (const [path, body] of Object.entries(bodies)) {
    const text = JSON.stringify(body)
    const asking = send(`${service.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-length': text.length },
    })
    const closed = new Promise<void>((done) => asking.on('error', () => undefined).on('close', done))
    let since: number | undefined
    asking.on('socket', () => (since = steps))
    onStep = () => {
      if (since !== undefined && steps === since + 50) asking.destroy()
    }
    asking.end(text)
    await closed
    onStep = () => {}
    const line = new RegExp(`http_request_duration_seconds_count\\{route="${path}",method="POST",status="499"\\} 1`)
    const page = await eventually(async () => {
      const { text } = await service.request('GET', '/metrics')
      return line.test(text) ? text : undefined
    }, `${path} is told as given up`)
    const asked = askedIn(page) - before
    before = askedIn(page)
    t.ok(asked > 0 && asked < FLAGS, `${path}: ${asked} of ${FLAGS}`)
  }
})
