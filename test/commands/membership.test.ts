import t from 'tap'
import { evolve } from '../../src/commands/decider.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import {
  awaitsResponse,
  formatOf,
  hasOlderMember,
  type Membership,
  type MembershipCommands,
  membership,
  mustRespond,
} from '../../src/commands/membership.ts'
import { memoryLog } from '../memory-log.ts'
import { told } from '../projections/stored.ts'
import { virtualClock } from '../virtual-clock.ts'

const after = <K extends keyof MembershipCommands>(
  state: Membership,
  name: K,
  command: MembershipCommands[K],
): Membership => membership.decide[name](state, command).reduce((each, event) => evolve(membership, each, event), state)
const joined = (state: Membership, instance: string, reads: number, complete = false) =>
  after(state, 'Join', { instance, reads, version: '1.0.0', complete })
const left = (state: Membership, instance: string) => after(state, 'Leave', { instance })

await t.test('the format of new events is the latest that every instance of the cluster can read', async (t) => {
  let state = membership.initial
  t.equal(formatOf(state), 1, 'nobody is known')
  state = joined(state, 'a', 3, true)
  t.equal(formatOf(state), 3)
  state = joined(state, 'b', 2)
  t.equal(formatOf(state), 2)
  t.same([hasOlderMember(state, 3), hasOlderMember(state, 2)], [true, false])
  state = left(state, 'b')
  t.equal(formatOf(state), 3)
  state = left(state, 'a')
  t.equal(formatOf(state), 1)
  t.equal(formatOf(joined(state, 'c', 3)), 3, 'a complete membership stays complete')
})

await t.test('the first event format is used until an instance lists all members of the cluster', (t) => {
  let state = joined(joined(membership.initial, 'a', 2), 'b', 2)
  t.equal(formatOf(state), 1)
  state = joined(state, 'c', 2, true)
  t.equal(formatOf(state), 2)
  t.end()
})

await t.test('an instance that does not respond is removed only for the latest question to the cluster', async (t) => {
  let state = joined(joined(joined(membership.initial, 'a', 2, true), 'b', 1), 'c', 2)
  t.notOk(awaitsResponse(state, 'a'))
  state = after(state, 'Probe', { instance: 'a' })
  t.same(
    ['a', 'b', 'c', 'd'].map((each) => mustRespond(state, each)),
    [false, true, true, true],
  )
  t.same(membership.decide.Probe(state, { instance: 'c' }), [], 'one call at a time')
  state = joined(state, 'c', 2)
  t.same([...state.members.keys()], ['a', 'b', 'c'], 'an answer is no second join')
  t.ok(awaitsResponse(state, 'a'))
  t.same(membership.decide.EvictUnresponsive(state, { instance: 'a', probe: state.probes - 1 }), [])
  state = after(state, 'EvictUnresponsive', { instance: 'a', probe: state.probes })
  t.same([...state.members.keys()], ['a', 'c'])
  t.equal(formatOf(state), 2)
  t.ok(mustRespond(state, 'b'), 'who finds itself struck out joins again')
  t.equal(formatOf(joined(state, 'b', 1)), 1)
})

await t.test('after a cluster event that cannot be read the first format is used', async (t) => {
  const log = memoryLog()
  const join = { instance: 'a', reads: 2, version: '1.0.0', complete: true }
  await log.append(
    'instance-main',
    told('instance-main', [
      { type: 'InstanceJoined', data: join },
      { type: 'InstanceDrained', data: {} },
    ]),
    'none',
  )
  const nothing = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const clock = virtualClock()
  const { execute } = executor(log, enveloper(nothing, 'b', clock.now), { clock })
  const context = { actor: { kind: 'system' } } as const
  const { state } = await execute(membership, 'main', 'Join', { ...join, instance: 'b' }, context)
  t.same([...state.members.keys()], ['a', 'b'])
  t.equal(formatOf(state), 1)
  await execute(membership, 'main', 'Leave', { instance: 'b' }, context)
  t.equal(log.all.length, 4)
})
