import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Decider, evolve } from '../../src/commands/decider.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { segment } from '../../src/commands/segment.ts'
import { token } from '../../src/commands/token.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import { flags } from '../../src/projections/flags.ts'
import { areQuiet, type Projection, project } from '../../src/projections/projection.ts'
import { namespaces, segments } from '../../src/projections/resource-model.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { anyEvent } from '../arbitrary.ts'
import { type Asks, flagAsks, namespaceAsks, segmentAsks, tokenAsks } from '../commands/asks.ts'
import { anyAsks, history } from '../commands/laws.ts'
import { told } from './stored.ts'

/** Converts a document like a store, through JSON. */
const kept = <D extends object>(row: Row<D> | undefined): Row<D> | undefined =>
  row && { ...row, doc: row.doc && (JSON.parse(JSON.stringify(row.doc)) as D) }

const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

const laws = <S, C extends Readonly<Record<string, object>>, E extends AnyEvent, D extends object>(
  decider: Decider<S, C, E>,
  asks: Asks<C>,
  projection: Projection<D, E>,
  /** Value on which document and decider state must agree; undefined if absent. */
  ofDoc: (doc: D) => unknown,
  ofState: (state: S) => unknown,
) =>
  t.test(projection.name, async (t) => {
    const stream = `${decider.category}-ns+x`
    const replay = (events: readonly E[]) =>
      told(stream, events).reduce<Row<D> | undefined>((row, event) => project(projection, row, event), undefined)

    await t.test('a document that is updated event by event equals a document rebuilt from all events', async (t) => {
      fc.assert(
        fc.property(anyAsks(asks, 40), (list) => {
          const events = history(decider, list)
          const advanced = told(stream, events).reduce<Row<D> | undefined>(
            (row, event) => kept(project(projection, row, event)),
            undefined,
          )
          assert.deepEqual(advanced, kept(replay(events)))
        }),
        { numRuns: 60 },
      )
      t.pass('equal')
    })

    await t.test('the document that clients read agrees with the state that commands use', async (t) => {
      let documents = 0
      fc.assert(
        fc.property(anyAsks(asks, 40), (list) => {
          const events = history(decider, list)
          const state = events.reduce((state, event) => evolve(decider, state, event), decider.initial)
          const doc = replay(events)?.doc
          if (doc) documents++
          assert.deepEqual(plain(doc && ofDoc(doc)), plain(ofState(state)))
        }),
        { numRuns: 100, seed: 1 },
      )
      t.ok(documents > 30, `${documents} documents compared`)
    })

    await t.test('each event that clients can see increases the revision of its resource', async (t) => {
      t.strictSame([...(projection.quiet ?? [])].sort(), [...(decider.quiet ?? [])].sort())
      fc.assert(
        fc.property(anyAsks(asks, 40), (list) => {
          const events = history(decider, list)
          const loud = events.filter(({ type }) => !decider.quiet?.has(type))
          assert.equal(replay(events)?.changes ?? 0n, BigInt(loud.length))
        }),
        { numRuns: 30 },
      )
    })

    await t.test('events that clients cannot see do not change the document', async (t) => {
      fc.assert(
        fc.property(anyAsks(asks, 40), (list) => {
          let row: Row<D> | undefined
          for (const event of told(stream, history(decider, list))) {
            const after = project(projection, row, event)
            if (areQuiet(projection, [event])) assert.equal(after.doc, row?.doc)
            row = after
          }
        }),
        { numRuns: 30 },
      )
      t.pass('the same')
    })

    await t.test('no sequence of events makes a projection throw', async (t) => {
      fc.assert(
        fc.property(
          fc.array(anyEvent<E>(decider.shapes), { maxLength: 30, size: 'max' }),
          (events) => void replay(events),
        ),
        { numRuns: 100 },
      )
      t.pass('all histories projected')
    })
  })

type Part = { readonly createdAt: string; readonly updatedAt: string }
const untimed = <T extends Part>({ createdAt: _createdAt, updatedAt: _updatedAt, ...part }: T) => part
const keys = (part: object): object =>
  'segments' in part
    ? { ...part, segments: (part.segments as { segment: string }[]).map(({ segment }) => segment) }
    : part

await laws(
  flag,
  flagAsks,
  flags,
  ({ incarnation, name, description, enabled, metadata, defaultVariantId, variants, rules, rollouts }) => ({
    own: { incarnation, name, description, enabled, metadata, defaultVariantId },
    variants: variants.map(untimed),
    rules: rules.map((rule) => ({ ...untimed(rule), distributions: rule.distributions.map(untimed) })),
    rollouts: rollouts.map(untimed),
  }),
  ({ incarnation, name, description, enabled, metadata, defaultVariantId, variants, rules, rollouts }) =>
    incarnation === undefined
      ? undefined
      : {
          own: { incarnation, name, description, enabled, metadata, defaultVariantId },
          variants,
          rules: rules.map(keys),
          rollouts: rollouts.map(keys),
        },
)
await laws(
  segment,
  segmentAsks,
  segments,
  ({ incarnation, name, description, matchType, constraints }) => ({
    own: { incarnation, name, description, matchType },
    constraints: constraints.map(untimed),
  }),
  ({ incarnation, name, description, matchType, constraints }) =>
    incarnation === undefined ? undefined : { own: { incarnation, name, description, matchType }, constraints },
)
await laws(
  namespace,
  namespaceAsks,
  namespaces,
  ({ incarnation, name, description, protected: kept }) => ({ incarnation, name, description, kept }),
  ({ incarnation, name, description, protected: kept }) =>
    incarnation === undefined ? undefined : { incarnation, name, description, kept },
)
await laws(
  token,
  tokenAsks,
  tokens,
  ({ expiresAt, deletedAt }) => ({ expiresAt, live: deletedAt === undefined }),
  ({ expiresAt, status }) => (status === 'absent' ? undefined : { expiresAt, live: status === 'live' }),
)
