import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { destroyAgain, subjectEraser } from '../../src/commands/erase-subject.ts'
import { executor } from '../../src/commands/execute.ts'
import type { Keys } from '../../src/events/personal.ts'
import { sealer } from '../../src/events/personal.ts'
import { unfinishedErasures } from '../../src/jobs/erasures.ts'
import { erasureStore, erasures } from '../../src/projections/erasures.ts'
import { project } from '../../src/projections/projection.ts'
import type { Row } from '../../src/projections/views.ts'
import { memoryStore } from '../memory-log.ts'

const PERSON = 'person-AAAAAAAAAAAAAAAAAAAAAA'
const TOKENS = ['token-1', 'token-2', 'token-3']
const signal = new AbortController().signal
const ADMIN = { actor: { kind: 'token' } } as const

type Stored = Uint8Array | 'erased'

/** Log and keys that outlive crashes. Token 2 has no key, and the key of token 3 was put aside. */
const world = () => {
  const log = memoryStore()
  const keys = new Map<string, Stored>([
    [PERSON, new Uint8Array(32).fill(1)],
    ['token-1', new Uint8Array(32).fill(2)],
    ['other', new Uint8Array(32).fill(4)],
  ])
  const aside = new Set(['token-3'])
  return { log, keys, aside }
}

/** Process on a log and keys. Its nth call of them fails, before or after its effect, and all later calls too. */
const processOn = (
  { log: store, keys: all, aside }: ReturnType<typeof world>,
  dies?: { at: number; after: boolean },
) => {
  let calls = 0
  const dying = async <T>(call: () => T | Promise<T>): Promise<T> => {
    const n = ++calls
    if (dies && (n > dies.at || (n === dies.at && !dies.after))) throw new Error('killed')
    const result = await call()
    if (dies && n === dies.at) throw new Error('killed')
    return result
  }
  const opened = store.open()
  const keys: Pick<Keys, 'states' | 'destroy' | 'make' | 'find'> = {
    make: async (subject) => all.get(subject) ?? 'erased',
    find: async (subject) => all.get(subject),
    states: (subjects) =>
      dying(() => {
        const stateOf = (subject: string) =>
          aside.has(subject) || typeof all.get(subject) === 'object' ? 'kept' : all.has(subject) ? 'erased' : undefined
        return new Map(
          subjects.flatMap((subject) => {
            const state = stateOf(subject)
            return state ? [[subject, state] as const] : []
          }),
        )
      }),
    destroy: async (...subjects) => {
      for (const subject of subjects)
        await dying(() => {
          all.set(subject, 'erased')
          aside.delete(subject)
        })
    },
  }
  const log = {
    ...opened,
    append: (...given: Parameters<typeof opened.append>) => dying(() => opened.append(...given)),
  }
  const forgotten = new Set<string>()
  const held = erasureStore((gone) => gone.forEach((key) => forgotten.add(key)))
  const rows = new Map<string, Row<NonNullable<ReturnType<typeof held.of>>>>()
  const take = (events: typeof store.all) => {
    for (const event of events) {
      const row = project(erasures, rows.get(event.stream), event)
      rows.set(event.stream, row)
      held.set(erasures.name, row)
    }
  }
  take(store.all)
  const { execute } = executor(log, enveloper(sealer(keys), 'test', systemClock.now), { clock: systemClock })
  let erased = 0
  const eraser = subjectEraser({
    execute,
    keys,
    applied: async (events) => take(events),
    tokensOf: async () => TOKENS.map((subject) => ({ subject, time: '2026-01-01T00:00:00.000Z' })),
    onErased: () => erased++,
  })
  return {
    eraser,
    keys,
    held,
    forgotten,
    calls: () => calls,
    erased: () => erased,
    /** The job that finishes interrupted erasures. */
    job: () => unfinishedErasures(held, eraser).run(signal, () => undefined),
  }
}

await t.test('a job looks for interrupted erasures once a minute', async (t) => {
  t.equal(unfinishedErasures({ all: () => [] }, processOn(world()).eraser).every, 60_000)
})

const typesIn = ({ log }: ReturnType<typeof world>) => log.all.map(({ type }) => type)
const GONE = [PERSON, 'token-1', 'token-3']

await t.test('a process that is killed at any call of keys or log leaves an erasure that a job finishes', async (t) => {
  const whole = processOn(world())
  await whole.eraser.erase(PERSON, 'because', ADMIN, signal)
  const all = whole.calls()
  t.equal(all, 7)
  for (const after of [false, true])
    for (let at = 1; at <= all; at++) {
      const there = world()
      const killed = processOn(there, { at, after })
      await t.rejects(killed.eraser.erase(PERSON, 'because', ADMIN, signal), { message: 'killed' })
      const isRequested = typesIn(there).includes('SubjectErasureRequested')
      const next = processOn(there)
      await next.job()
      const where = `killed ${after ? 'after' : 'before'} call ${at}`
      t.strictSame(typesIn(there), isRequested ? ['SubjectErasureRequested', 'SubjectErased'] : [], where)
      if (!isRequested) t.equal(there.keys.get(PERSON) instanceof Uint8Array, true, `${where}: nothing is destroyed`)
      const { keys } = await next.eraser.erase(PERSON, 'again', ADMIN, signal)
      t.strictSame([...keys].sort(), GONE, where)
      t.strictSame(
        [...GONE, 'token-2'].map((key) => there.keys.get(key)),
        Array(4).fill('erased'),
        where,
      )
      t.equal(there.aside.size, 0, where)
      t.ok(there.keys.get('other') instanceof Uint8Array, where)
      t.equal(typesIn(there).length, 2, `${where}: each event once`)
      t.strictSame([...next.forgotten].sort(), GONE, where)
      t.equal(next.held.of(PERSON)?.left, undefined, where)
    }
})

await t.test('keys of an older copy of the key store are destroyed again, and others stay', async (t) => {
  const there = world()
  const before = new Map(there.keys)
  await processOn(there).eraser.erase(PERSON, 'because', ADMIN, signal)
  const restored = { ...there, keys: new Map(before), aside: new Set(['token-3']) }
  const next = processOn(restored)
  t.equal(await destroyAgain(next.keys, next.held.destroyed()), 3)
  t.strictSame(
    GONE.map((key) => restored.keys.get(key)),
    Array(3).fill('erased'),
  )
  t.ok(restored.keys.get('other') instanceof Uint8Array)
  t.equal(await destroyAgain(next.keys, next.held.destroyed()), 0)
  t.equal(typesIn(restored).length, 2, 'without an event')
})

await t.test('an erasure of more keys than fit one event has several events in one append', async (t) => {
  const there = world()
  const many = Array.from({ length: 2_500 }, (_, n) => `token-${n}`)
  for (const key of many) there.keys.set(key, new Uint8Array(32))
  const one = processOn(there)
  TOKENS.push(...many)
  t.teardown(() => TOKENS.splice(3))
  const { keys } = await one.eraser.erase(PERSON, 'because', ADMIN, signal)
  t.equal(keys.length, 2_501)
  t.equal(typesIn(there).filter((type) => type === 'SubjectErased').length, 3)
  t.equal(one.erased(), 1)
  t.equal(processOn(there).held.of(PERSON)?.left, undefined)
})
