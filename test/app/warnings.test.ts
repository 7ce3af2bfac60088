import t from 'tap'
import { oncePerMinute } from '../../src/app/telemetry/warnings.ts'

await t.test('each kind of warning is logged at most once a minute', async (t) => {
  const told: unknown[] = []
  let time = 0
  const warn = oncePerMinute(
    (...said: readonly unknown[]) => void told.push(said),
    () => new Date(time),
  )
  const claim = (name: string) => warn(`referenced ${name}`, { claim: name }, 'absent')
  for (time of [0, 1, 59_999]) claim('groups')
  claim('roles')
  t.same(told, [
    [{ claim: 'groups' }, 'absent'],
    [{ claim: 'roles' }, 'absent'],
  ])
  time = 60_000
  claim('groups')
  claim('roles')
  t.equal(told.length, 3, 'and again when its own minute is over')
  for (let n = 0; n < 1_000; n++) claim(`other ${n}`)
  claim('groups')
  t.equal(told.length, 1_004, 'of too many the oldest are forgotten')
})
