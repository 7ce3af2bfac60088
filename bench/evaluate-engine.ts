import { EventEmitter } from 'node:events'
import { FlagdCore } from '@openfeature/flagd-core'
import { Unleash } from 'unleash-client'
import inner from 'unleash-client/lib/client.js'
import { defaultStrategies } from 'unleash-client/lib/strategy/index.js'
import { contextOf } from '../src/contract/entity.ts'
import { type BooleanFlag, compileFlag, type VariantFlag } from '../src/evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../src/evaluation/evaluate.ts'
import type { ConstraintInput, SegmentInput } from '../src/evaluation/flag.ts'
import { type Row, row } from './measure.ts'

type Person = { readonly id: string; readonly context: Readonly<Record<string, string>> }
const people: readonly Person[] = Array.from({ length: 1024 }, (_, n) => ({
  id: `user-${n * 7919}`,
  context: {
    country: ['de', 'fr', 'us', 'jp'][n % 4]!,
    plan: n % 8 < 6 ? 'pro' : 'free',
    age: String(n % 90),
    since: '2024-05-01T10:00:00Z',
    beta: 'true',
  },
}))

const constraint = (
  id: string,
  type: ConstraintInput['type'],
  property: string,
  operator: string,
  value: string,
): ConstraintInput => ({
  id,
  type,
  property,
  operator,
  value,
})
const named =
  (...segments: readonly SegmentInput[]) =>
  (key: string) =>
    segments.find((segment) => segment.key === key)
const bare = { enabled: false, variants: [], rules: [], rollouts: [] } as const

/** One threshold. */
const threshold = () => {
  const flag = compileFlag(
    {
      ...bare,
      key: 'checkout',
      type: 'boolean',
      rollouts: [{ id: 't', rank: 1, type: 'threshold', percentage: 50, value: true }],
    },
    named(),
  ) as BooleanFlag
  return ({ id, context }: Person) => hit(evaluateBoolean(flag, id, contextOf(context)))
}

const hit = (answer: ReturnType<typeof evaluateBoolean>): boolean => {
  if ('error' in answer) throw new Error(answer.error)
  return answer.enabled
}

/** Ten rules, each with a segment of five constraints of four types; the last one matches. */
const tenRules = () => {
  const segments = Array.from(
    { length: 10 },
    (_, n): SegmentInput => ({
      key: `segment-${n}`,
      matchType: 'all',
      constraints: [
        constraint('a', 'string', 'country', 'isoneof', '["de","fr","us","jp"]'),
        constraint('b', 'string', 'plan', 'neq', 'none'),
        constraint('c', 'number', 'age', 'gte', '0'),
        constraint('d', 'boolean', 'beta', 'true', ''),
        constraint('e', 'datetime', 'since', n === 9 ? 'gt' : 'lt', '2024-01-01T00:00:00Z'),
      ],
    }),
  )
  const rules = segments.map(({ key }, n) => ({
    id: key,
    rank: n + 1,
    segments: [key],
    operator: 'or' as const,
    distributions: [{ id: 'd', variantId: 'v', rollout: 100 }],
  }))
  const variants = [{ id: 'v', key: 'on', attachment: '' }]
  const flag = compileFlag(
    { ...bare, key: 'many', type: 'variant', enabled: true, variants, rules },
    named(...segments),
  ) as VariantFlag
  return ({ id, context }: Person) => {
    const answer = evaluateVariant(flag, id, contextOf(context))
    if ('error' in answer) throw new Error(answer.error)
    return answer.match
  }
}

// The rule of the comparison: the country is one of three and the plan is pro, and of those one half. The half is not a segment's to take,
// so ours passes those outside by a first rollout and takes the half by a second; every engine draws by its own hash.
const ours = () => {
  const outside: SegmentInput = {
    key: 'outside',
    matchType: 'any',
    constraints: [
      constraint('country', 'string', 'country', 'isnotoneof', '["de","fr","us"]'),
      constraint('plan', 'string', 'plan', 'neq', 'pro'),
    ],
  }
  const flag = compileFlag(
    {
      ...bare,
      key: 'checkout',
      type: 'boolean',
      rollouts: [
        { id: 's', rank: 1, type: 'segment', segments: ['outside'], operator: 'or', value: false },
        { id: 't', rank: 2, type: 'threshold', percentage: 50, value: true },
      ],
    },
    named(outside),
  ) as BooleanFlag
  return ({ id, context }: Person) => hit(evaluateBoolean(flag, id, contextOf(context)))
}

/** The client as it is used (without its metrics), and the evaluating part of it alone, which is not exported. */
const unleashed = async () => {
  const feature = {
    name: 'checkout',
    type: 'release',
    enabled: true,
    project: 'default',
    stale: false,
    impressionData: false,
    variants: [],
    strategies: [
      {
        name: 'flexibleRollout',
        parameters: { rollout: '50', stickiness: 'userId', groupId: 'checkout' },
        constraints: [
          { contextName: 'country', operator: 'IN', inverted: false, values: ['de', 'fr', 'us'] },
          { contextName: 'plan', operator: 'IN', inverted: false, values: ['pro'] },
        ],
      },
    ],
  }
  const events = new EventEmitter()
  const repository = Object.assign(events, {
    getToggle: (name: string) => (name === 'checkout' ? feature : undefined),
    getToggles: () => [feature],
    getTogglesWithSegmentData: () => [feature],
    getSegment: () => undefined,
    stop: () => {},
    start: () => Promise.resolve(events.emit('ready')).then(() => {}),
  }) as unknown as ConstructorParameters<typeof inner.default>[0]
  const contexts = new Map(people.map((person) => [person, { userId: person.id, properties: { ...person.context } }]))

  const whole = new Unleash({
    appName: 'bench',
    url: 'http://127.0.0.1/',
    repository,
    disableAutoStart: true,
    disableMetrics: true,
  })
  await whole.start()
  const bare = new inner.default(repository, defaultStrategies)
  return {
    whole: (person: Person) => whole.isEnabled('checkout', contexts.get(person)),
    bare: (person: Person) => bare.isEnabled('checkout', contexts.get(person)!, () => false),
    stop: () => whole.destroy(),
  }
}

const flagd = () => {
  const core = new FlagdCore()
  const half = { fractional: [{ var: 'targetingKey' }, ['on', 50], ['off', 50]] }
  const inside = { and: [{ in: [{ var: 'country' }, ['de', 'fr', 'us']] }, { '==': [{ var: 'plan' }, 'pro'] }] }
  const flag = {
    state: 'ENABLED',
    variants: { on: true, off: false },
    defaultVariant: 'off',
    targeting: { if: [inside, half, 'off'] },
  }
  core.setConfigurations(JSON.stringify({ flags: { checkout: flag } }))
  const contexts = new Map(people.map((person) => [person, { targetingKey: person.id, ...person.context }]))
  return (person: Person) => core.resolveBooleanEvaluation('checkout', false, contexts.get(person)).value
}

type Evaluate = (person: Person) => boolean

const SLICE_MS = 150
const SLICES = 9

/** Evaluations a second over one slice. */
const slice = (evaluate: Evaluate): number => {
  const start = performance.now()
  let [done, elapsed, on] = [0, 0, 0]
  while (elapsed < SLICE_MS) {
    for (const person of people) if (evaluate(person)) on++
    done += people.length
    elapsed = performance.now() - start
  }
  if (on === 0) throw new Error('nobody was ever on: this is not the rule that was meant')
  return (done / elapsed) * 1000
}

const upperQuartile = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.75)]!

/** Slices of all in turn, so that what the machine does meanwhile strikes all alike; the first round warms up. */
const alternate = (all: readonly Evaluate[]): readonly number[] => {
  const rates = all.map((): number[] => [])
  for (let round = 0; round <= SLICES; round++) {
    all.forEach((evaluate, n) => {
      const rate = slice(evaluate)
      if (round > 0) rates[n]!.push(rate)
    })
  }
  return rates.map(upperQuartile)
}

/** Each engine must put about as many people on: three of four countries, three of four plans, one half. */
const shareOf = (evaluate: Evaluate): number => people.filter(evaluate).length / people.length

/** Evaluations of the engine a second, alone and against others on the same rule (B13). */
export const run = async (): Promise<readonly Row[]> => {
  const [own, theirs, flagds] = [ours(), await unleashed(), flagd()]
  const same = [own, theirs.whole, theirs.bare, flagds]
  const shares = same.map(shareOf)
  if (Math.max(...shares) - Math.min(...shares) > 0.08) throw new Error(`the rules differ: ${shares.join(', ')}`)
  const [single = 0, many = 0] = alternate([threshold(), tenRules()])
  const [rate = 0, whole = 1, bare = 1, flagdRate = 1] = alternate(same)
  theirs.stop()
  const told = (id: string, name: string, figure: number, atLeast?: number): Row =>
    atLeast === undefined
      ? { id, name, figure: figure.toFixed(2), target: '', ok: true }
      : row(id, name, figure, { atLeast })
  return [
    told('B13', 'boolean evaluations / unleash-client, same rule', rate / whole, 5),
    told('B13', 'boolean evaluations / flagd-core, same rule', rate / flagdRate, 1.2),
    told('B13', 'boolean evaluations / the inner part of unleash-client', rate / bare),
    told('B13', 'million boolean evaluations a second, same rule', rate / 1e6),
    told('B13', 'million boolean evaluations a second, one threshold', single / 1e6),
    told('B13', 'million variant evaluations a second, 10 rules of 5 constraints', many / 1e6),
  ]
}
