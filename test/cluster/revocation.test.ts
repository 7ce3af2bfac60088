import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { BOUND, becomes, issue, revoke, revokedElsewhere, sleep, startTwo, use } from './revoking.ts'
import { startStack } from './stack.ts'

await t.test('over one node: a token is usable and refused elsewhere at once', (t) => revokedElsewhere(t, 1))

await t.test('a revocation that the other cannot hear of is in force there within the bound', async (t) => {
  const { stack, skip } = await startStack(t)
  if (!stack) return t.pass('needs servers', { skip })
  const { link, url } = await linkTo(t, stack.settings['eventstore.url']!)
  const { a, b } = await startTwo(t, stack, url)
  for (const mode of ['blackhole', 'reset'] as const)
    await t.test(mode, async (t) => {
      const tokens = await Promise.all(Array.from({ length: 20 }, () => issue(a)))
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 200), 'known there')
      await link.set(mode)
      const revoked = await Promise.all(
        tokens.map(async ({ bearer, id }) => {
          await revoke(a, id)
          return { bearer, since: performance.now() }
        }),
      )
      const last: number[] = []
      const seen = new Map<number, number>()
      for (const end = performance.now() + BOUND + 2000; performance.now() < end; await sleep(20)) {
        for (const { bearer, since } of revoked) {
          const asked = performance.now() - since
          const status = await use(b, bearer)
          seen.set(status, (seen.get(status) ?? 0) + 1)
          if (status === 200) last.push(asked)
        }
      }
      t.comment(
        `${mode}: answers ${JSON.stringify([...seen])}, the last 200 was asked for ${Math.max(0, ...last).toFixed(0)} ms after`,
      )
      t.ok(Math.max(0, ...last) < BOUND, 'never a 200 later')
      t.ok((seen.get(503) ?? 0) > 0, 'then it says that it does not know')
      const back = performance.now()
      await link.set('pass')
      while ((await use(b, tokens[0]!.bearer)) !== 401 && performance.now() - back < 15_000) await sleep(10)
      t.comment(`${mode}: back after ${(performance.now() - back).toFixed(0)} ms`)
      for (const { bearer } of tokens) t.ok(await becomes(b, bearer, 401), 'and refused for good')
      const fresh = await issue(a)
      t.ok(await becomes(b, fresh.bearer, 200), 'and it works again')
    })
  return undefined
})
