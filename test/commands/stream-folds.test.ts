import t from 'tap'
import type { Decider } from '../../src/commands/decider.ts'
import { streamFolds } from '../../src/commands/stream-folds.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import type { Stored } from '../../src/events/log.ts'

const EVENTS = 20

/** A log whose streams have 20 events of a length, and the revisions from which streams are read. */
const world = (length: number, most?: number) => {
  const starts: bigint[] = []
  const eventOf = (stream: string, n: bigint): Stored => ({
    id: `${stream} ${n}`,
    stream,
    type: 'Grown',
    time: '2026-11-03T13:02:30.000Z',
    data: 'x'.repeat(length),
    meta: '{}',
    revision: n,
    position: n + 1n,
  })
  const read = async function* (stream: string, from = 0n) {
    starts.push(from)
    const page = Array.from({ length: EVENTS }, (_, n) => eventOf(stream, BigInt(n)))
    yield page.filter(({ revision }) => revision >= from)
  }
  const decider = {
    category: 'x',
    shapes: {},
    read: (type: string) => ({ type, data: {} }),
    initial: { events: 0 },
    exists: () => true,
    decide: {},
    evolve: { Grown: ({ events }: { readonly events: number }) => ({ events: events + 1 }) },
  }
  const grown = decider as unknown as Decider<{ readonly events: number }, Record<string, object>, AnyEvent>
  const folds = streamFolds({ read }, most)
  const newest = async (stream: string) => {
    const { state } = await folds.newest(grown, stream)
    return [state.events, starts.at(-1)]
  }
  return { folds, newest, grown, eventOf }
}

await t.test('cached states are bounded by the length of their events together', async (t) => {
  const { newest } = world(1_000, 50_000)
  t.strictSame(await newest('a'), [EVENTS, 0n])
  t.strictSame(await newest('b'), [EVENTS, 0n])
  t.strictSame(await newest('a'), [EVENTS, 20n], 'cached')
  t.strictSame(await newest('c'), [EVENTS, 0n])
  t.strictSame(await newest('a'), [EVENTS, 20n])
  t.strictSame(await newest('b'), [EVENTS, 0n], 'evicted, and read again')
})

await t.test('a state grows by the events of a command, and is not cached without those before', async (t) => {
  const { folds, newest, grown, eventOf } = world(1_000, 50_000)
  for (const stream of ['a', 'b']) await newest(stream)
  const fold = await folds.newest(grown, 'a')
  folds.keepNext(
    'a',
    { ...fold, at: 39n },
    Array.from({ length: EVENTS }, (_, n) => eventOf('a', BigInt(n + EVENTS))),
  )
  t.strictSame(await newest('a'), [EVENTS, 40n])
  t.strictSame(await newest('b'), [EVENTS, 0n], 'evicted by the larger state')
  folds.keepNext('c', fold, [])
  t.strictSame(await newest('c'), [EVENTS, 0n])
})

await t.test('the state of a stream with more events than the largest document is cached', async (t) => {
  const { newest } = world(4 * 1_048_576)
  for (const stream of ['a', 'b', 'c']) await newest(stream)
  t.strictSame(await newest('a'), [EVENTS, 20n])
})
