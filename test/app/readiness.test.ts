import t from 'tap'
import { readinessOf } from '../../src/app/features/instance.ts'
import type { Stores } from '../../src/app/stores/stores.ts'
import type { LedgerState } from '../../src/ledger/follower.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

/** State of an instance and its stores, healthy by default. */
const WELL = {
  head: async (): Promise<unknown> => 1n,
  checkpoint: async (): Promise<unknown> => undefined,
  runs: async (): Promise<unknown> => [],
  caughtUp: async () => true,
  alone: true,
  sharing: true,
  full: false,
  draining: false,
  fresh: true,
  readable: true,
  /** Whether the read models are complete; undefined if they cannot be rebuilt at run time. */
  whole: undefined as boolean | undefined,
  ledger: 'ok' as LedgerState,
}
type State = typeof WELL

const asked = (state: Partial<State>) => {
  const clock = virtualClock()
  const { head, checkpoint, runs, caughtUp, alone, whole, ...told } = { ...WELL, ...state }
  const stores = {
    log: { head },
    views: { checkpoint },
    queue: { runs },
    alone,
    sharing: () => told.sharing,
    full: () => told.full,
    ...(whole !== undefined && { renewal: { isWhole: () => whole } }),
  } as unknown as Stores
  const ready = readinessOf(
    clock,
    stores,
    () => told.draining,
    () => told.fresh,
    () => told.readable,
    caughtUp,
    () => told.ledger,
  )
  return { clock, answer: ready() }
}

/** Returns readiness and the unhealthy checks. */
const saidOf = async (answer: ReturnType<typeof asked>['answer']) => {
  const { ready, checks } = await answer
  return [
    ready,
    Object.fromEntries(checks.filter(({ status }) => status !== 'ok').map((one) => [one.name, one.status])),
  ]
}

const failing = () => Promise.reject(new Error('away'))
const silent = () => new Promise<never>(() => undefined)

await t.test('the instance is ready unless a dependency fails that requests need', async (t) => {
  for (const [name, state, ready, bad] of [
    ['all is well', {}, true, {}],
    ['the log is away', { head: failing }, false, { log: 'failed' }],
    ['the read models are away, its own', { checkpoint: failing }, false, { views: 'failed' }],
    ['the read models are away, on a server', { checkpoint: failing, alone: false }, true, { views: 'degraded' }],
    ['the read models lack what was in the log', { caughtUp: async () => false }, false, { views: 'failed' }],
    ['so do those on a server', { caughtUp: async () => false, alone: false }, false, { views: 'failed' }],
    ['their progress is unknown', { caughtUp: failing, alone: false }, false, { views: 'failed' }],
    ['the read models are being rebuilt', { whole: false }, true, { views: 'degraded' }],
    ['they were rebuilt', { whole: true }, true, {}],
    ['the queue is away', { runs: failing }, true, { queue: 'degraded' }],
    ['limits are not shared', { sharing: false }, true, { queue: 'degraded' }],
    ['the disk is full', { full: true }, true, { storage: 'degraded' }],
    ['events cannot be read', { readable: false }, true, { events: 'degraded' }],
    ['nothing proves that it is fresh', { fresh: false }, false, { freshness: 'failed' }],
    ['the tree of the ledger is being built', { ledger: 'building' }, true, { ledger: 'degraded' }],
    ['sealing is suspended', { ledger: 'suspended' }, true, { ledger: 'failed' }],
    ['the log is not the sealed one', { ledger: 'diverged' }, true, { ledger: 'failed' }],
    ['it is about to leave', { draining: true }, false, { listener: 'failed' }],
  ] as const satisfies readonly (readonly [string, Partial<State>, boolean, object])[])
    t.strictSame(await saidOf(asked(state).answer), [ready, bad], name)
})

await t.test('a dependency that does not answer within one second counts as failed', async (t) => {
  for (const [part, ready, bad] of [
    ['head', false, { log: 'failed' }],
    ['checkpoint', false, { views: 'failed' }],
    ['caughtUp', false, { views: 'failed' }],
    ['runs', true, { queue: 'degraded' }],
  ] as const) {
    const { clock, answer } = asked({ [part]: silent })
    const over = noted(answer)
    await clock.advance(999)
    t.strictSame(over, [], part)
    await clock.advance(1)
    t.equal(over.length, 1, part)
    t.strictSame(await saidOf(answer), [ready, bad], part)
    t.strictSame(clock.waiting(), [], 'no timer is left')
  }
})
