import { once } from 'node:events'
import t from 'tap'
import { builtInSqlite } from '../../src/adapters/embedded/sqlite.ts'
import { logForeignLines, oncePerMinute } from '../../src/app/telemetry/limited-lines.ts'

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

await t.test('long lines with the same beginning are one kind of warning', (t) => {
  let told = 0
  const warn = oncePerMinute(
    () => void told++,
    () => new Date(0),
  )
  for (const end of ['a', 'b']) warn(`${'x'.repeat(1_000)}${end}`, {}, 'long')
  t.equal(told, 1)
  t.end()
})

await t.test('warnings of Node.js and lines of packages are logged once a minute, and never printed', async (t) => {
  const [listeners, warn, error] = [process.listeners('warning'), console.warn, console.error]
  const printed = t.capture(process.stderr, 'write', () => true)
  const told: unknown[] = []
  let time = 0
  const stop = logForeignLines({ warn: (...line: readonly unknown[]) => void told.push(line) } as never, {
    now: () => new Date(time),
  })
  const emit = async (text: string, name: string) => {
    process.emitWarning(text, name)
    await once(process, 'warning')
  }
  const all = async () => {
    await emit('SQLite is an experimental feature', 'ExperimentalWarning')
    await emit('Possible leak', 'MaxListenersExceededWarning')
    console.warn('IMPORTANT! Eviction policy is %s', 'allkeys-lru', { of: 1 })
    console.error(new RangeError('out of it'))
  }
  for (time of [0, 59_999]) await all()
  t.match(told, [
    [
      { warning: 'ExperimentalWarning', why: 'SQLite is an experimental feature' },
      'Node.js or a package reports a warning',
    ],
    [{ warning: 'MaxListenersExceededWarning', why: 'Possible leak' }, 'Node.js or a package reports a warning'],
    [{ why: 'IMPORTANT! Eviction policy is allkeys-lru { of: 1 }' }, 'a package printed a line'],
    [{ why: /^RangeError: out of it\n/ }, 'a package printed a line'],
  ])
  t.equal(told.length, 4)
  time = 60_000
  await all()
  t.equal(told.length, 8)
  stop()
  t.strictSame(printed(), [])
  t.strictSame(process.listeners('warning'), listeners)
  t.same([console.warn === warn, console.error === error], [true, true])
})

await t.test('loading SQLite prints no warning, and later warnings are printed', (t) => {
  const emitted = t.capture(process, 'emitWarning')
  const given = { DatabaseSync: 'the class' }
  let load = (): unknown => given
  t.intercept(process, 'getBuiltinModule', {
    value: () => {
      process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
      return load()
    },
  })
  t.equal(builtInSqlite(), given)
  load = () => {
    throw new Error('no such module')
  }
  t.throws(builtInSqlite, { message: 'no such module' })
  t.strictSame(emitted(), [])
  process.emitWarning('another')
  t.match(emitted(), [{ args: ['another'] }])
  t.end()
})
