import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { reapplyRulesSweep } from '../../src/jobs/reapply-rules.ts'
import type { Query, Views } from '../../src/projections/views.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

type Known = {
  readonly id: string
  readonly method: string
  readonly createdAt: string
  readonly policy?: number
  readonly expiresAt?: string
}
type Record = { readonly revision: number; readonly value: object }

const tokens = (count: number, method: string, of: Partial<Known> = {}): readonly Known[] =>
  Array.from({ length: count }, (_, n) => {
    const id = `${method}-${String(n).padStart(4, '0')}`
    return { id, method, createdAt: `2026-01-01T00:00:00.${id}Z`, ...of }
  })

/** Views with these tokens and the progress of sweeps. `listed` are the requested pages. */
const viewsOf = (known: readonly Known[]) => {
  const records = new Map<string, Record>()
  const state = { listed: 0, records }
  const list = async (_: unknown, { where, after, limit }: Query) => {
    state.listed++
    const method = (where['method'] as { readonly equals: readonly string[] }).equals[0]
    const left = known.filter((one) => one.method === method && one.id > (after?.key ?? ''))
    return { rows: left.slice(0, limit).map((doc) => ({ key: doc.id, doc })), total: 0 }
  }
  const swapRecord = async (_: string, id: string, expected: number, value: object) => {
    if ((records.get(id)?.revision ?? 0) !== expected) return false
    records.set(id, { revision: expected + 1, value })
    return true
  }
  return Object.assign(state, { views: { list, records: async () => records, swapRecord } as unknown as Views })
}

type Done = Readonly<{ kept: number; narrowed: number; ended: number }>

/** A running sweep. `looked` are the processed tokens, `times` the times of processing. */
const begun = (
  { views }: Pick<ReturnType<typeof viewsOf>, 'views'>,
  policy: number,
  narrow: (id: string) => 'kept' | 'narrowed' | 'ended' = () => 'narrowed',
) => {
  const clock = virtualClock('2026-01-02T00:00:00.000Z')
  const looked: string[] = []
  const times: number[] = []
  const told: Done[] = []
  const errors: unknown[] = []
  const job = reapplyRulesSweep({
    views,
    policy: async () => policy,
    narrow: async (id) => {
      looked.push(id)
      times.push(clock.monotonic())
      return narrow(id)
    },
    complete: async () => undefined,
    clock,
    now: clock.now,
    onDone: (counts) => told.push({ ...counts }),
    onError: (error) => errors.push(error),
  })
  job.begin()
  return { ...job, clock, looked, times, told, errors }
}

/** Runs a sweep to its end. */
const sweep = async (...asked: Parameters<typeof begun>) => {
  const { clock, done, close, looked, told, errors } = begun(...asked)
  for (const ended = noted(done()); ended.length === 0; ) await clock.advance(250)
  await close()
  return { looked, told, errors }
}

await t.test('each token of an earlier access configuration is checked once, and no other token', async (t) => {
  const held = viewsOf([
    ...tokens(230, 'oidc'),
    ...tokens(1, 'codehost', { policy: 2 }),
    ...tokens(2, 'orchestrator', { policy: 3 }),
    ...tokens(3, 'token'),
  ])
  const { looked, told, errors } = await sweep(held, 3, (id) => (id.endsWith('1') ? 'ended' : 'kept'))
  t.equal(looked.length, 231)
  t.equal(new Set(looked).size, 231)
  t.same(told, [{ kept: 208, narrowed: 0, ended: 23 }])
  t.same(errors, [])

  const pages = held.listed
  const again = await sweep(held, 3)
  t.same(again, { looked: [], told: [], errors: [] }, 'what is done for a configuration is done')
  t.equal(held.listed, pages, 'and asks for nothing')
  t.equal((await sweep(held, 2)).looked.length, 0, 'an earlier one leaves it to the later')
  t.equal((await sweep(held, 4)).looked.length, 233, 'a later one begins anew')
})

await t.test('tokens are checked against new access rules in pages of 100 with pauses of 250 ms', async (t) => {
  const { clock, looked, times, done, close } = begun(viewsOf(tokens(250, 'oidc')), 1)
  await clock.advance(249)
  t.equal(looked.length, 100)
  await clock.advance(1)
  t.equal(looked.length, 200)
  await clock.advance(1_000)
  t.strictSame([...new Set(times)], [0, 250, 500])
  await done()
  await close()
  t.strictSame(clock.waiting(), [])
})

await t.test('a failed check of tokens against new access rules is repeated after 30 s', async (t) => {
  const failures = [new Refusal('backend_unavailable'), new Refusal('release_in_progress')]
  const { clock, looked, told, errors, close } = begun(viewsOf(tokens(1, 'oidc')), 1, () => {
    const failure = failures.shift()
    if (failure) throw failure
    return 'narrowed'
  })
  await clock.advance(29_999)
  t.equal(looked.length, 1)
  t.match(errors, [{ reason: 'backend_unavailable' }])
  await clock.advance(1)
  t.equal(looked.length, 2)
  await clock.advance(29_999)
  t.equal(looked.length, 2)
  await clock.advance(1)
  t.strictSame([looked.length, errors.length], [3, 1])
  await clock.advance(1_000)
  t.same(told, [{ kept: 0, narrowed: 1, ended: 0 }])
  await close()
})

await t.test('any instance continues a check of tokens that a second instance has interrupted', async (t) => {
  const held = viewsOf(tokens(250, 'oidc'))
  let stopped: Promise<void> | undefined
  const first = begun(held, 1, () => {
    if (first.looked.length === 150) stopped = first.close()
    return 'kept'
  })
  await first.clock.advance(250)
  await stopped
  t.equal(first.looked.length, 150)
  const second = await sweep(held, 1)
  t.equal(second.looked[0], 'oidc-0100', 'from the page that was under way')
  t.equal(second.looked.length, 150)
})

await t.test('the check against new access rules skips expired tokens', async (t) => {
  const expired = tokens(3, 'oidc', { expiresAt: '2026-01-01T23:59:59.999Z' })
  t.same(await sweep(viewsOf(expired), 1), { looked: [], told: [], errors: [] })
  t.same((await sweep(viewsOf(tokens(3, 'codehost')), 1, () => 'kept')).told, [])
})

await t.test('the check against new access rules skips a token that cannot be read', async (t) => {
  const { looked, told, errors } = await sweep(viewsOf(tokens(3, 'oidc')), 1, (id) => {
    if (id.endsWith('1')) throw new Refusal('event_unreadable')
    return 'narrowed'
  })
  t.equal(looked.length, 3)
  t.same(told, [{ kept: 0, narrowed: 2, ended: 0 }])
  t.same(errors, [])
})
