import t from 'tap'
import { Refusal, refuse } from '../../src/base/errors.ts'
import { streamQueue } from '../../src/commands/execute.ts'

const held = () => {
  let free = () => {}
  const wait = new Promise<void>((resolve) => (free = resolve))
  return { wait, free }
}

await t.test('a command is refused with write_conflict if too many wait for the same stream', async (t) => {
  const inTurn = streamQueue(2)
  const { wait, free } = held()
  const all = [1, 2, 3].map((n) => inTurn('a', async () => wait.then(() => n)))
  const [refused] = await Promise.allSettled([inTurn('a', async () => 4)])
  t.match(refused, { reason: { reason: 'write_conflict' } })
  free()
  t.strictSame(await Promise.all(all), [1, 2, 3])
  t.equal(await inTurn('a', async () => 5), 5)
})

await t.test('after backend_unavailable all waiting commands fail, and later ones are tried', async (t) => {
  const inTurn = streamQueue(10)
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
})
