import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Views } from '../../src/projections/views.ts'
import { virtualClock } from '../virtual-clock.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const heap = () => {
  collect()
  return process.memoryUsage().heapUsed
}

const nth = (n: number): Stored => {
  const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  const issuedAt = '2026-01-01T00:00:00.000Z'
  const data = { id, digest: `k.${'A'.repeat(43)}`, method: 'token', issuedAt, attributes: {}, metadata: {} }
  return {
    stream: `token-${id}`,
    id,
    type: 'TokenIssued',
    revision: 0n,
    position: BigInt(n + 1),
    time: issuedAt,
    data: JSON.stringify(data),
    meta: '{}',
  }
}

/** Log without storage that delivers given events to its follower. */
const passing = () => {
  let page: readonly Stored[] = []
  let wake = () => {}
  const follow: EventLog['follow'] = async function* (_, signal) {
    signal.addEventListener('abort', () => wake())
    while (!signal.aborted) {
      if (page.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      const next = page
      page = []
      if (next.length > 0) yield next
    }
  }
  const deliver = (events: readonly Stored[]) => {
    page = events
    wake()
  }
  return { log: { follow, head: async () => 0n, first: async () => undefined } as unknown as EventLog, deliver }
}

await t.test('an instance that does not write read models drops rows once another one wrote them', async (t) => {
  const views = {
    checkpoint: async () => START,
    scan: async function* () {},
    put: async () => undefined,
    mark: async () => true,
  } as unknown as Views
  const { log, deliver } = passing()
  const ours = runner({
    clock: virtualClock(),
    log,
    views,
    projections: [anyProjection(tokens)],
    remember: () => undefined,
    writes: () => false,
    onError: (error) => t.fail(String(error)),
  })
  await ours.start()
  const append = async (from: number, count: number) => {
    const events = Array.from({ length: count }, (_, n) => nth(from + n))
    await Promise.all(events.map((event) => ours.applied([event])))
    deliver(events)
    if (!(await ours.seen(events.at(-1)!.position, 10_000))) throw new Error('not followed')
  }
  const [STEP, STEPS] = [500, 80]
  await append(0, 2 * STEP)
  const before = heap()
  for (let n = 2; n < STEPS; n++) await append(n * STEP, STEP)
  const kept = (heap() - before) / ((STEPS - 2) * STEP)
  // A retained row takes at least 340 B per append; uncollected garbage may take 100 B.
  t.ok(kept < 200, `${kept.toFixed(0)} B an append`)
  await ours.close()
})
