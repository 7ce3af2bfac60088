import { systemClock } from '../src/base/clock.ts'
import { compileFlag } from '../src/evaluation/compile.ts'
import { evaluator } from '../src/http/evaluation/evaluator.ts'
import { lastEvaluations } from '../src/http/evaluation/last-evaluations.ts'
import { metricsOf, metricsPage } from '../src/http/metrics/metrics.ts'
import { lastUses } from '../src/jobs/last-uses.ts'
import { flagStore } from '../src/projections/flag-memory/flag-store.ts'
import type { FlagDoc } from '../src/projections/flags.ts'
import { FLAGS, TOKENS } from './http.ts'
import { asked } from './in-memory.ts'
import { alternate, quantile, type Row, row } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'

const ROUNDS = 12
/** Evaluations between two readings of the clock of the bench. */
const CALLS = 1000

/** A flag in memory and an evaluator that records its evaluations; `written` are the records in the store. */
const recording = () => {
  const store = flagStore(compileFlag)
  const row = { revision: 1n, position: 1n, changes: 1n }
  const common = { incarnation: 'i', name: 'n', description: '', createdAt: '', updatedAt: '', changedAt: '' }
  store.set('namespaces', { ...row, key: 'default', doc: { ...common, key: 'default', order: '1', protected: true } })
  const doc: FlagDoc = {
    ...common,
    namespace: 'default',
    key: 'checkout',
    order: '2',
    type: 'boolean',
    enabled: true,
    metadata: {},
    variants: [],
    rules: [],
    rollouts: [],
  }
  store.set('flags', { ...row, key: 'default+checkout', doc })
  let written = 0
  const views = { records: async () => new Map(), swapRecord: async () => ++written > 0 }
  const onError = (error: unknown) => {
    throw error
  }
  const evaluations = lastUses({ table: 'flag-uses', views, clock: systemClock, onError })
  const service = { flagStore: store, evaluations, now: systemClock.now, clock: systemClock }
  const metrics = metricsOf(metricsPage('bench'), { flagLabels: true })
  const evaluate = evaluator(metrics, service, lastEvaluations(service))
  return { evaluate, flag: store.compiled('default', 'checkout')!, evaluations, written: () => written }
}

/**
 * B23: share of recording the last evaluation in the time of an authenticated evaluation (B1m). The recording is the
 * call that an evaluation makes, with the look-up of the flag's counters, which an evaluation has anyway.
 */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const { evaluate, flag, evaluations, written } = recording()
    const repeated = (work: () => void) => (until: number) => {
      let n = 0
      for (; performance.now() < until; n += CALLS) for (let m = 0; m < CALLS; m++) work()
      return n
    }
    const service = await startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`)
    try {
      const { recorded, evaluated } = await alternate({
        recorded: repeated(() => evaluate.note(flag, 'default')),
        evaluated: repeated(() => void evaluate.boolean(flag, 'default', { entityId: 'e', context: {} })),
      })
      await evaluations.close()
      if (written() === 0) throw new Error('nothing was recorded')
      const request = await asked(service, '/evaluate/v1/boolean')
      const spent: number[] = []
      for (let round = -2; round < ROUNDS; round++) {
        const cost = await request()
        if (round >= 0) spent.push(cost)
      }
      const whole = quantile(spent, 0.1) * 1e6
      const [own, bare] = [1e6 / recorded, 1e6 / evaluated]
      const note = `${(own * 1000).toFixed(0)} ns of ${whole.toFixed(1)} µs; an evaluation in memory ${(bare * 1000).toFixed(0)} ns`
      const name = 'CPU of recording the last evaluation / of an authenticated evaluation, connections in memory'
      return [row('B23', name, (100 * own) / whole, { atMost: 1 }, ' %', note)]
    } finally {
      await service.stop()
    }
  })
