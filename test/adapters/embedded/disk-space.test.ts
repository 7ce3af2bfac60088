import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { roomOf } from '../../../src/adapters/embedded/files/watched-files.ts'
import type { Clock } from '../../../src/base/clock.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { newDirectory } from './store.ts'

const LOOK_MS = 5_000

const world = async (t: Test, directory?: string) => {
  const clock = virtualClock()
  const told: boolean[] = []
  const place = directory ?? (await newDirectory(t))
  return { clock, told, place, room: roomOf(place, clock, (full) => told.push(full)) }
}

await t.test('a disk counts as full until a check, which runs every 5 s, finds free space', async (t) => {
  const { clock, told, place, room } = await world(t)
  t.equal(room.full(), false)
  t.match(room.lacking(), { message: `the disk is full: no space is left in ${place}`, code: 'ENOSPC' })
  t.same([room.full(), told], [true, [true]])
  await clock.advance(LOOK_MS - 1)
  t.match(room.lacking(), { code: 'ENOSPC' })
  t.same([room.full(), told, clock.waiting()], [true, [true], [1]], 'told once, and looked at when it is due')
  await clock.advance(1)
  await eventually(() => !room.full(), 'the look at the disk')
  t.same([told, clock.waiting()], [[true, false], []])
  room.lacking()
  t.same(told, [true, false, true], 'it may be full again')
  room.close()
})

await t.test('a failed check of the disk counts as a full disk, and the check is repeated', async (t) => {
  const place = join(await newDirectory(t), 'not there')
  const { clock, told, room } = await world(t, place)
  room.lacking()
  for (let looks = 0; looks < 3; looks++) {
    await clock.advance(LOOK_MS)
    await eventually(() => clock.waiting().length > 0, 'the next look to be due')
    t.same([room.full(), told, clock.waiting()], [true, [true], [LOOK_MS]])
  }
  room.close()
})

await t.test('after the disk check is closed, it neither runs nor calls a listener', async (t) => {
  const { clock, told, room } = await world(t)
  room.lacking()
  room.close()
  t.same([room.full(), clock.waiting()], [false, []])
  t.same(told, [true])
})

await t.test('a disk check that is running when it is closed calls no listener', async (t) => {
  const looks: (() => void)[] = []
  const clock = virtualClock()
  const after: Clock['after'] = (ms, look) => {
    looks.push(look)
    return clock.after(ms, look)
  }
  const told: boolean[] = []
  const place = await newDirectory(t)
  const room = roomOf(place, { ...clock, after }, (full) => told.push(full))
  room.lacking()
  looks[0]!()
  room.close()
  // The check was requested before these.
  await Promise.all(Array.from({ length: 16 }, () => statfs(place)))
  t.same([told, room.full()], [[true], false])
})
