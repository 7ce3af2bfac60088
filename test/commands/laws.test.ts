import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Decider, evolve } from '../../src/commands/decider.ts'
import { refusal } from '../../src/commands/deployment.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { login } from '../../src/commands/login.ts'
import { membership } from '../../src/commands/membership.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { segment } from '../../src/commands/segment.ts'
import { token } from '../../src/commands/token.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import { anyEvent } from '../arbitrary.ts'
import {
  type Asks,
  flagAsks,
  loginAsks,
  membershipAsks,
  namespaceAsks,
  refusalAsks,
  segmentAsks,
  tokenAsks,
} from './asks.ts'
import { anyAsks, decided, history } from './laws.ts'

const laws = <S, C extends Readonly<Record<string, object>>, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  asks: Asks<C>,
) =>
  t.test(decider.category, async (t) => {
    await t.test('a command that is repeated at once does nothing or is refused', async (t) => {
      const happened = new Set<string>()
      fc.assert(
        fc.property(anyAsks(asks), (list) => {
          let state = decider.initial
          for (const ask of list) {
            const events = decided(decider, state, ask)
            state = events.reduce((state, event) => evolve(decider, state, event), state)
            for (const { type } of events) happened.add(type)
            // A list can return to an earlier order, so only the command id makes it idempotent.
            if (events.length > 0 && !ask.name.startsWith('Change'))
              assert.deepEqual(decided(decider, state, ask), [], `${ask.name} asked again`)
          }
        }),
        // A fixed seed, so that every type of event occurs.
        { numRuns: 300, seed: 4 },
      )
      t.strictSame([...happened].sort(), Object.keys(decider.shapes).sort(), 'every event came about')
    })

    await t.test('applying an event returns a new state and does not change the old one', async (t) => {
      fc.assert(
        fc.property(anyAsks(asks, 20), (list) => {
          let state = decider.initial
          const initial = JSON.stringify(state)
          for (const event of history(decider, list)) state = evolve(decider, state, event)
          return JSON.stringify(decider.initial) === initial
        }),
        { numRuns: 30 },
      )
      t.pass('the initial state stays as it is')
    })

    await t.test('applying an event never throws', async (t) => {
      fc.assert(
        fc.property(fc.array(anyEvent<E>(decider.shapes), { maxLength: 30, size: 'max' }), (events) => {
          events.reduce((state, event) => evolve(decider, state, event), decider.initial)
        }),
        { numRuns: 200 },
      )
      t.pass('all histories evolved')
    })
  })

await laws(token, tokenAsks)
await laws(namespace, namespaceAsks)
await laws(segment, segmentAsks)
await laws(flag, flagAsks)
await laws(login, loginAsks)
await laws(refusal, refusalAsks)
await laws(membership, membershipAsks)
