import t from 'tap'
import { Type } from 'typebox'
import { Refusal } from '../../src/base/errors.ts'
import type { Decider } from '../../src/commands/decider.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { type EventOf, next, reader, v1 } from '../../src/events/define.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

/** A light that is on or off. It has a brightness from format 2 on, and can flash from format 3 on. */
const switched = v1(Type.Object({ on: Type.Boolean() }))
const shapes = {
  LightSet: next(
    switched,
    Type.Object({ percent: Type.Number(), secret: Type.Optional(Type.String()) }),
    ({ on }) => ({ percent: on ? 100 : 0 }),
    {
      format: 2,
      downcast: ({ percent }) => (percent === 0 || percent === 100 ? { on: percent === 100 } : undefined),
    },
  ),
  LightFlashed: v1(Type.Object({}), 3),
}
type Events = EventOf<typeof shapes>
type Commands = { Set: { readonly percent: number; readonly secret?: string }; Flash: object }
const light: Decider<{ readonly percent: number; readonly secret?: string | undefined }, Commands, Events> = {
  category: 'light',
  shapes,
  read: reader(shapes),
  initial: { percent: 0 },
  exists: () => true,
  decide: {
    Set: (_, data) => [{ type: 'LightSet', data }],
    Flash: () => [{ type: 'LightFlashed', data: {} }],
  },
  evolve: { LightSet: (_, { percent, secret }) => ({ percent, secret }), LightFlashed: (state) => state },
}
const context = { actor: { kind: 'system' } } as const
const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }

const setup = (options: { readonly format?: () => number } = {}) => {
  const log = memoryLog()
  const { execute, foldOf } = executor(
    log,
    enveloper(open, 'test', () => new Date(0)),
    { clock: virtualClock(), ...options },
  )
  const last = () => {
    const { type, data, meta } = log.all.at(-1)!
    return [type, data, (JSON.parse(meta) as { schema: number }).schema]
  }
  return { log, execute, foldOf, last }
}

await t.test('by default events are written in the first format', async (t) => {
  const { log, execute, last } = setup()
  await execute(light, 'a', 'Set', { percent: 100 }, context)
  t.strictSame(last(), ['LightSet', '{"on":true}', 1])
  await t.rejects(execute(light, 'a', 'Flash', {}, context), new Refusal('release_in_progress'))
  await t.rejects(execute(light, 'a', 'Set', { percent: 50 }, context), new Refusal('release_in_progress'))
  t.equal(log.all.length, 1, 'what is refused writes nothing')
})

await t.test('each command uses the current event format', async (t) => {
  let format = 1
  const { execute, foldOf, last } = setup({ format: () => format })
  const told = await execute(light, 'a', 'Set', { percent: 100, secret: 'x' }, context)
  t.match(told, { events: [{ type: 'LightSet', data: { percent: 100 } }], state: { percent: 100 } })
  t.equal(told.state.secret, undefined, 'the command goes on with what everybody will read')
  t.strictSame((await foldOf(light, 'a')).state, { ...told.state }, 'and that is what the stream says')
  format = 2
  await execute(light, 'a', 'Set', { percent: 50 }, context)
  t.strictSame(last(), ['LightSet.v2', '{"percent":50}', 2])
  await t.rejects(execute(light, 'a', 'Flash', {}, context), new Refusal('release_in_progress'))
  format = 3
  await execute(light, 'a', 'Flash', {}, context)
  t.strictSame(last(), ['LightFlashed', '{}', 1])
  format = 1
  await execute(light, 'a', 'Set', { percent: 0 }, context)
  t.strictSame(last(), ['LightSet', '{"on":false}', 1], 'and back')
})

await t.test('a repeated command returns its first outcome, whatever the current event format', async (t) => {
  let format = 2
  const { log, execute } = setup({ format: () => format })
  const named = { ...context, commandId: 'once' }
  await execute(light, 'a', 'Set', { percent: 50 }, named)
  format = 1
  const again = await execute(light, 'a', 'Set', { percent: 50 }, named)
  t.match(again, { repeated: true, state: { percent: 50 } })
  t.equal(log.all.length, 1)
})
