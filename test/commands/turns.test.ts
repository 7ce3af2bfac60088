import t from 'tap'
import { turns } from '../../src/commands/turns.ts'
import { Refusal, refuse } from '../../src/errors.ts'

const held = () => {
  let free = () => {}
  const wait = new Promise<void>((resolve) => (free = resolve))
  return { wait, free }
}

await t.test(
  'one at a time of a stream, in the order asked, whatever becomes of those before; other streams do not wait',
  async (t) => {
    const inTurn = turns(10)
    const { wait, free } = held()
    const done: string[] = []
    const first = inTurn('a', async () => {
      await wait
      done.push('first')
      throw new Error('fails')
    })
    const second = inTurn('a', async () => done.push('second'))
    await inTurn('b', async () => done.push('other'))
    t.strictSame(done, ['other'])
    free()
    await t.rejects(first, { message: 'fails' })
    await second
    t.strictSame(done, ['other', 'first', 'second'])
  },
)

await t.test('who finds the line full is told to try again', async (t) => {
  const inTurn = turns(2)
  const { wait, free } = held()
  const all = [1, 2, 3].map((n) => inTurn('a', async () => wait.then(() => n)))
  const [refused] = await Promise.allSettled([inTurn('a', async () => 4)])
  t.match(refused, { reason: { reason: 'write_conflict' } })
  free()
  t.strictSame(await Promise.all(all), [1, 2, 3])
  t.equal(await inTurn('a', async () => 5), 5)
})

await t.test(
  'a store out of reach of one is out of reach of all who wait behind it, and of nobody who comes later',
  async (t) => {
    const inTurn = turns(10)
    const { wait, free } = held()
    let ran = 0
    const first = inTurn('a', async () => {
      await wait
      return refuse('backend_unavailable')
    })
    const behind = [1, 2, 3].map(() => inTurn('a', async () => ran++))
    free()
    const results = await Promise.allSettled([first, ...behind])
    for (const result of results)
      t.ok(result.status === 'rejected' && result.reason instanceof Refusal && result.reason.status === 503)
    t.equal(ran, 0)
    t.equal(await inTurn('a', async () => ++ran), 1)
  },
)
