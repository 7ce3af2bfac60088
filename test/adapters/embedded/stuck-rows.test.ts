import t from 'tap'
import type { Failure, Request } from '../../../src/adapters/embedded/writer/protocol.ts'
import { stuckRows } from '../../../src/adapters/embedded/writer/write-rows.ts'
import { virtualClock } from '../../virtual-clock.ts'

const full: Failure = { kind: 'full', message: 'database or disk is full' }
const put = (id: number): Request => [id, 'put', []]
const mark = (id: number): Request => [id, 'mark', []]

/** A disk that can be full, with the attempted, written and refused rows. */
const world = () => {
  const clock = virtualClock()
  const disk = { full: false, tried: [] as (readonly number[])[], refused: [] as number[] }
  const ids = (group: readonly Request[]) => group.map(([id]) => id)
  const write = stuckRows(
    clock,
    (group) => {
      disk.tried.push(ids(group))
      return disk.full ? full : undefined
    },
    (others) => disk.refused.push(...ids(others)),
  )
  return { clock, disk, write }
}

await t.test('writes that a full disk rejected are repeated every 250 ms until the disk has space', async (t) => {
  const { clock, disk, write } = world()
  disk.full = true
  write([put(1)])
  t.same(disk.tried, [[1]])
  for (let n = 2; n < 5; n++) {
    await clock.advance(249)
    t.equal(disk.tried.length, n - 1)
    await clock.advance(1)
    t.same(disk.tried.length, n)
  }
  disk.full = false
  await clock.advance(250)
  t.same(disk.tried, [[1], [1], [1], [1], [1]])
  t.same(clock.waiting(), [], 'then nothing is due any more')
  await clock.advance(10_000)
  t.equal(disk.tried.length, 5)
  t.same(disk.refused, [])
})

await t.test('while writes wait for disk space, later ones are queued and calls of other kinds refused', async (t) => {
  const { clock, disk, write } = world()
  disk.full = true
  write([put(1), mark(2)])
  t.same(disk.refused, [2])
  await clock.advance(100)
  write([mark(3), put(4)])
  t.same(
    [disk.tried.at(-1), disk.refused],
    [
      [1, 3, 4],
      [2, 3],
    ],
  )
  t.same(clock.waiting(), [150], 'one timer for all')
  disk.full = false
  await clock.advance(149)
  t.equal(disk.tried.length, 2)
  await clock.advance(1)
  t.same(disk.tried.at(-1), [1, 4], 'in the order in which they came')
  write([mark(5)])
  t.same([disk.tried.at(-1), disk.refused], [[5], [2, 3]])
})

await t.test('nothing is repeated when no write waits for disk space', async (t) => {
  const { clock, disk, write } = world()
  disk.full = true
  write([mark(1)])
  t.same([disk.tried, disk.refused, clock.waiting()], [[[1]], [1], []])
  write([])
  t.equal(disk.tried.length, 1)
})
