import t from 'tap'
import type { Stores } from '../../src/app/stores/stores.ts'
import { verify } from '../../src/app/stores/verify-log-and-views.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

/** History of two events that the read models contain; `shown`: number of events that the log shows. */
const started = (given: { readonly alone?: boolean; readonly writes?: () => boolean; readonly shown?: number }) => {
  const clock = virtualClock()
  const log = { shown: given.shown ?? 1 }
  const lines: string[] = []
  let looks = 0
  const at = async (position: bigint) => (position <= BigInt(log.shown) ? { id: `event ${position}` } : undefined)
  const stores = {
    log: {
      at,
      first: async () => ({ id: 'event 1', position: 1n }),
      head: async () => {
        looks++
        return BigInt(log.shown)
      },
      readAll: async function* () {
        yield Array.from({ length: log.shown })
      },
    },
    views: {
      checkpoint: async () => ({ position: 2n, event: 'event 2', log: 'event 1', events: 2, rows: 0, changes: 0 }),
      totals: async () => ({ rows: 0, changes: 0 }),
      newest: async () => 0n,
      build: async () => {
        throw new Error('they are built anew')
      },
    },
    binding: { read: async () => ({ event: 'event 1', position: 1n }) },
    pepper: { key: new Uint8Array(32) },
    alone: given.alone ?? false,
    writes: given.writes ?? (() => true),
  } as unknown as Stores
  const told = { error: (_: object, line: string) => lines.push(line), info: (line: string) => lines.push(line) }
  const over = noted(verify(clock, stores, told))
  return { clock, log, lines, over, looks: () => looks }
}
const anew = [{ message: 'they are built anew' }]

await t.test('the service starts at once if the log has every event that the service has seen before', async (t) => {
  const { clock, lines, over, looks } = started({ shown: 2 })
  await clock.settle()
  t.strictSame([over, lines, looks(), clock.waiting()], [[undefined], [], 1, []])
})

await t.test('on servers a log that seems shorter is checked again after two seconds', async (t) => {
  const { clock, log, lines, over, looks } = started({})
  await clock.advance(1_999)
  t.strictSame([over, looks(), clock.waiting()], [[], 1, [1]])
  log.shown = 2
  await clock.advance(1)
  t.strictSame([over, lines, looks()], [[undefined], [], 2], 'a leader that was deposed showed an older one')
})

await t.test('if the log is still shorter after the second check, the read models are rebuilt', async (t) => {
  const { clock, lines, over } = started({})
  await clock.advance(1_999)
  t.strictSame([over, lines], [[], []])
  await clock.advance(1)
  t.match(over, anew)
  t.match(lines, [/^the read models do not match the event log and are rebuilt: the event log is shorter/])
})

await t.test('a shorter embedded log is accepted at once', async (t) => {
  const { clock, over, looks } = started({ alone: true })
  await clock.settle()
  t.match(over, anew)
  t.equal(looks(), 1)
})

await t.test('an instance that does not write the read models checks them every 500 ms and logs once', async (t) => {
  const writer = { here: false }
  const { clock, log, lines, over, looks } = started({ writes: () => writer.here })
  // Each check reads twice, two seconds apart.
  await clock.advance(2_000)
  for (const looked of [2, 4, 6]) {
    t.equal(looks(), looked)
    t.match(lines, [/waits until a different instance has rebuilt them$/])
    await clock.advance(499)
    t.equal(looks(), looked)
    await clock.advance(1)
    t.equal(looks(), looked + 1)
    await clock.advance(2_000)
  }
  log.shown = 2
  await clock.advance(500)
  t.strictSame([over, lines.length], [[undefined], 1], 'another instance has built them')
})
