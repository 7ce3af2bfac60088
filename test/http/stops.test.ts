import { join } from 'node:path'
import t from 'tap'
import { everyRoute } from './dense.ts'
import { heavyRequests, makeHeavy } from './heavy.ts'
import { watchedService } from './watching.ts'

const FLAGS = 200

const service = await watchedService(join(import.meta.dirname, 'watched.js'))
t.teardown(service.close)
await makeHeavy(service, FLAGS)
const began = new Date()

await t.test('expensive requests let other work run', async (t) => {
  for (const [least, why, method, path, body] of heavyRequests(began, FLAGS)) {
    await service.figure()
    const { status, text } = await service.request(method, path, body)
    const turns = await service.figure()
    const name = `${method} ${path}, ${why}`
    t.comment(`${turns} turns of ${name}: ${status}`)
    t.ok(status < 500, `${name}: ${status} ${text.slice(0, 200)}`)
    t.ok(turns >= least, `${name}: ${turns} turns of ${least}`)
  }
})

await t.test('no body on any route causes a server fault', async (t) => {
  for (const { route, why, method, path, body } of await everyRoute(service)) {
    const { status, text } = await service.request(method, path, body)
    t.ok(status < 500, `${route}, ${why}: ${status} ${text.slice(0, 200)}`)
  }
})
