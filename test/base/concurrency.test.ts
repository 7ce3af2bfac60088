import t from 'tap'
import { gathered, keyedQueue, sharedCalls } from '../../src/base/concurrency.ts'

const held = () => {
  let free = () => {}
  const wait = new Promise<void>((resolve) => (free = resolve))
  return { wait, free }
}

await t.test('tasks with the same key run one after another, in order, even after failures', async (t) => {
  const inTurn = keyedQueue()
  const { wait, free } = held()
  const done: string[] = []
  const first = inTurn('a', async () => {
    await wait
    done.push('first')
    throw new Error('fails')
  })
  const second = inTurn('a', async () => done.push('second'))
  await inTurn('b', async () => done.push('other key'))
  t.strictSame(done, ['other key'])
  free()
  await t.rejects(first, { message: 'fails' })
  await second
  t.strictSame(done, ['other key', 'first', 'second'])
})

await t.test('callers during a call share the next one, which begins after their request', async (t) => {
  const shared = sharedCalls<number>()
  const waits = [held(), held()]
  let begun = 0
  const call = async () => {
    const mine = begun++
    await waits[mine]?.wait
    if (mine === 0) throw new Error('fails')
    return mine
  }
  const first = shared('a', call)
  const [second, third] = [shared('a', call), shared('a', call)]
  t.equal(begun, 1)
  waits[0]!.free()
  await t.rejects(first, { message: 'fails' })
  waits[1]!.free()
  t.strictSame(await Promise.all([second, third]), [1, 1])
  t.equal(await shared('a', call), 2, 'a later call is its own')
})

await t.test('calls of the same moment are gathered into one, and a later one is its own', async (t) => {
  const asked: (readonly number[])[] = []
  const double = gathered(async (all: readonly number[]) => {
    asked.push(all)
    if (all.includes(0)) throw new Error('none')
    return all.map((one) => 2 * one)
  })
  const deeper = Promise.resolve().then(() => double(3))
  t.strictSame(await Promise.all([double(1), double(2), deeper]), [2, 4, 6])
  t.strictSame(asked, [[1, 2, 3]])
  await Promise.all([t.rejects(double(0)), t.rejects(double(4))])
  t.equal(await double(5), 10, 'after a failure too')
  t.strictSame(asked, [[1, 2, 3], [0, 4], [5]])
})
