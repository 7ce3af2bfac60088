import t from 'tap'
import { resolved } from '../../src/access/reach.ts'
import { tokenCache } from '../../src/http/auth/token-verifier.ts'

const token = (id: string, places: number) => ({
  key: id,
  entry: {
    id,
    method: 'token' as const,
    namespace: undefined,
    reach: resolved(undefined, 0, new Map(Array.from({ length: places }, (_, n) => [`ns-${n}`, 1]))),
    policy: undefined,
    judged: 0,
  },
  expiresAt: Number.POSITIVE_INFINITY,
})

await t.test('the cache of tokens contains a limited number of tokens', async (t) => {
  const cache = tokenCache(3, 100)
  for (const id of ['a', 'b', 'c', 'd']) t.equal(cache.put(id, token(id, 1)).id, id)
  t.same(
    ['a', 'b', 'c', 'd'].filter((id) => cache.get(id)),
    ['b', 'c', 'd'],
  )
})

await t.test('the cache of tokens contains rights in a limited number of namespaces', async (t) => {
  const cache = tokenCache(100, 10)
  for (const id of ['a', 'b', 'c']) cache.put(id, token(id, 3))
  cache.put('b', token('b', 4))
  t.ok(cache.get('a'), 'ten together')
  cache.put('d', token('d', 1))
  t.notOk(cache.get('a'), 'the first leaves')
  t.ok(cache.get('b') && cache.get('c') && cache.get('d'))
  cache.put('e', token('e', 64))
  t.same(
    ['a', 'b', 'c', 'd', 'e'].filter((id) => cache.get(id)),
    ['e'],
    'one with more than that is held alone',
  )
  cache.put('f', token('f', 1))
  t.notOk(cache.get('e'))
  t.ok(cache.get('f'))
})
