import { join } from 'node:path'
import t from 'tap'
import { administering, attacks, evaluating, settings, worldOf } from './together-world.ts'
import { watchedService } from './watching.ts'

const ROUNDS = 3
const CLIENTS = 8
const script = join(import.meta.dirname, 'heap-watched.js')

await t.test('the service survives all attacks at once and answers other clients', async (t) => {
  const service = await watchedService(script, ['--max-old-space-size=512', '--expose-gc'], settings)
  t.teardown(service.close)
  const world = await worldOf(service)
  const all = Object.entries(attacks(world))
  const round = async (n: number) => {
    const held = await Promise.all(all.map(([, attack]) => attack(n)))
    for (const socket of held.flat()) socket.destroy()
  }
  // The first round fills the caches.
  await round(0)
  const before = await service.figure()

  let over = false
  const isOver = () => over
  const clients = Array.from({ length: CLIENTS }, () => evaluating(world, isOver))
  const administrator = administering(world, isOver)
  for (let n = 1; n <= ROUNDS; n++) await round(n)
  over = true
  const statuses = (await Promise.all(clients)).flat()
  const { wrong, rounds } = await administrator

  t.notOk(service.hasEnded(), 'the process lives')
  t.strictSame(
    statuses.filter((status) => status !== 200),
    [],
    `${statuses.length} evaluations`,
  )
  t.ok(statuses.length >= CLIENTS, 'each of them was answered')
  t.strictSame(wrong, [], `${rounds} rounds of the administrator`)
  const after = await service.figure()
  t.ok(after < before * 1.1, `${after} bytes of heap, ${before} before`)
})
