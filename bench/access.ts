import type { Grant } from '../src/access/grants.ts'
import { allowed, FULL, type Reach, reachOf } from '../src/access/reach.ts'
import { bitOf } from '../src/access/rights.ts'
import { contextOf } from '../src/contract/entity.ts'
import { type BooleanFlag, compileFlag } from '../src/evaluation/compile.ts'
import { evaluateBoolean } from '../src/evaluation/evaluate.ts'
import { quantile, type Row, row, told } from './measure.ts'

const AT_ONCE = 100_000
const SLICES = 60
const EVALUATE = bitOf('flag.evaluate')
const PLACES = 64

const places = Array.from({ length: PLACES }, (_, n) => `namespace-${n}`)
const roles = { server: ['flag.evaluate', 'flag.snapshot', 'self.use'] }
const granted = (at: readonly string[]): Reach =>
  reachOf({ grants: at.map((place): Grant => ({ place, role: 'server' })), roles })

const evaluating = (): ((n: number) => boolean) => {
  const flag = compileFlag(
    {
      key: 'checkout',
      type: 'boolean',
      enabled: false,
      variants: [],
      rules: [],
      rollouts: [{ id: 't', rank: 1, type: 'threshold', percentage: 50, value: true }],
    },
    () => undefined,
  ) as BooleanFlag
  const ids = Array.from({ length: 1024 }, (_, n) => `user-${n * 7919}`)
  const context = contextOf({ country: 'de', plan: 'pro' })
  return (n) => {
    const answer = evaluateBoolean(flag, ids[n % ids.length]!, context)
    return !('error' in answer) && answer.enabled
  }
}

/** What is measured: each does its thing so often and gives how often it was so. Requests come by many tokens to many places. */
const measured = () => {
  const evaluate = evaluating()
  const everywhere = Array.from({ length: PLACES }, () => granted(['*']))
  const inOne = places.map((place) => granted([place]))
  const inMany = places.map(() => granted(places))
  const deciding = (reaches: readonly Reach[]) => () => {
    let yes = 0
    for (let n = 0; n < AT_ONCE; n++) if (allowed(reaches[n % PLACES]!, EVALUATE, places[n % PLACES]!)) yes++
    return yes
  }
  return {
    // The same loop with what it reads, without the decision.
    none: () => {
      let yes = 0
      for (let n = 0; n < AT_ONCE; n++) if (inOne[n % PLACES]!.somewhere !== places[n % PLACES]!.length) yes++
      return yes
    },
    full: deciding(places.map(() => FULL)),
    everywhere: deciding(everywhere),
    inOne: deciding(inOne),
    inMany: deciding(inMany),
    evaluation: () => {
      let on = 0
      for (let n = 0; n < AT_ONCE; n++) if (evaluate(n)) on++
      return on
    },
  }
}

/** Nanoseconds of each, by turns; the lower quarter, for noise only ever slows. */
const nanoseconds = <K extends string>(things: Readonly<Record<K, () => number>>): Readonly<Record<K, number>> => {
  const names = Object.keys(things) as K[]
  const took = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let slice = -10; slice < SLICES; slice++) {
    for (const name of names) {
      const start = process.hrtime.bigint()
      if (things[name]() === 0) throw new Error(`${name} was never so`)
      if (slice >= 0) took.get(name)!.push(Number(process.hrtime.bigint() - start) / AT_ONCE)
    }
  }
  return Object.fromEntries(names.map((name) => [name, quantile(took.get(name)!, 0.25)])) as Record<K, number>
}

/** A1: what one decision about access costs above none, and beside one evaluation of the engine. */
export const run = async (): Promise<readonly Row[]> => {
  const { none, full, everywhere, inOne, inMany, evaluation } = nanoseconds(measured())
  const most = { atMost: 20 }
  const slowest = Math.max(full, everywhere, inOne, inMany) - none
  return [
    row('A1', 'a decision above none, full reach', full - none, most, ' ns'),
    row('A1', 'granted everywhere', everywhere - none, most, ' ns'),
    row('A1', 'granted in one namespace', inOne - none, most, ' ns'),
    row('A1', `granted in ${PLACES} namespaces`, inMany - none, most, ' ns'),
    told('A1', 'the slowest of these / one evaluation, one threshold', (slowest / evaluation).toFixed(2)),
  ]
}
