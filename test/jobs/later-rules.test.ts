import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { Refusal } from '../../src/errors.ts'
import { laterRulesSweep } from '../../src/jobs/later-rules.ts'
import type { Query, Views } from '../../src/projections/views.ts'

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

/** Views that hold these tokens and what sweeps keep there; `listed` are the pages that were asked for. */
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

/** Sweeps until it is done, or until so many tokens were looked at and it was closed. */
const sweep = async (
  { views }: Pick<ReturnType<typeof viewsOf>, 'views'>,
  policy: number,
  narrow: (id: string) => 'kept' | 'narrowed' | 'ended' = () => 'narrowed',
  until = Number.POSITIVE_INFINITY,
) => {
  const looked: string[] = []
  const told: Done[] = []
  const errors: unknown[] = []
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => (stop = resolve))
  const job = laterRulesSweep({
    views,
    policy: async () => policy,
    narrow: async (id) => {
      looked.push(id)
      if (looked.length === until) stop()
      return narrow(id)
    },
    complete: async () => undefined,
    clock: systemClock,
    now: () => new Date('2026-01-02T00:00:00.000Z'),
    onDone: (counts) => told.push({ ...counts }),
    onError: (error) => errors.push(error),
  })
  job.begin()
  await Promise.race([stopped, job.done()])
  await job.close()
  return { looked, told, errors }
}

await t.test('every login and exchange of an earlier configuration is looked at once, and no other', async (t) => {
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

await t.test('one that was cut short is gone on with, by whichever instance', async (t) => {
  const held = viewsOf(tokens(250, 'oidc'))
  const first = await sweep(held, 1, () => 'kept', 150)
  t.equal(first.looked.length, 150)
  const second = await sweep(held, 1)
  t.equal(second.looked[0], 'oidc-0100', 'from the page that was under way')
  t.equal(second.looked.length, 150)
})

await t.test('what has expired is left out, and nothing to be done is nothing to tell', async (t) => {
  const expired = tokens(3, 'oidc', { expiresAt: '2026-01-01T23:59:59.999Z' })
  t.same(await sweep(viewsOf(expired), 1), { looked: [], told: [], errors: [] })
  t.same((await sweep(viewsOf(tokens(3, 'codehost')), 1, () => 'kept')).told, [])
})

await t.test('a token that cannot be read does not stand in the way of the others', async (t) => {
  const { looked, told, errors } = await sweep(viewsOf(tokens(3, 'oidc')), 1, (id) => {
    if (id.endsWith('1')) throw new Refusal('event_unreadable')
    return 'narrowed'
  })
  t.equal(looked.length, 3)
  t.same(told, [{ kept: 0, narrowed: 2, ended: 0 }])
  t.same(errors, [])
})
