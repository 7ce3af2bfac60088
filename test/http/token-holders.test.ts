import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { tokenHolders } from '../../src/http/auth/token-holders.ts'
import type { TokenDoc } from '../../src/projections/tokens.ts'
import type { Views } from '../../src/projections/views.ts'

/** Tokens of these records, with the number of reads. */
const of = (docs: Readonly<Record<string, Partial<TokenDoc>>>) => {
  const state = { reads: 0, fails: undefined as Error | undefined }
  const get = async (_: unknown, id: string) => {
    state.reads++
    if (state.fails) throw state.fails
    return docs[id] && { doc: docs[id] }
  }
  return { state, holderOf: tokenHolders({ get } as unknown as Pick<Views, 'get'>) }
}
const ann = { method: 'oidc', identity: 'person-ann' } as const
const made = (issuedBy?: string) => ({ method: 'token' as const, ...(issuedBy !== undefined && { issuedBy }) })

await t.test('the holder of a token is its person or service account, or the holder of its creator', async (t) => {
  const { holderOf } = of({
    login1: ann,
    login2: ann,
    account: { method: 'orchestrator', identity: 'ns:batch' },
    first: { ...made(), identity: 'a name that anybody may give' },
    second: { ...made(), identity: 'a name that anybody may give' },
    static1: made('login1'),
    static2: made('static1'),
    static3: made('account'),
    static4: made('first'),
    orphan: made('gone'),
  })
  const told = async (...ids: string[]) => Promise.all(ids.map(holderOf))
  t.equal(new Set(await told('login1', 'login2', 'static1', 'static2')).size, 1)
  t.equal(new Set(await told('account', 'static3')).size, 1)
  t.equal(new Set(await told('first', 'static4')).size, 1)
  t.equal(new Set(await told('login1', 'account', 'first', 'second', 'orphan')).size, 5)
  t.equal(new Set(await told('orphan', 'gone')).size, 1)
})

await t.test('the lookup of the holder of a token reads each creator once, up to a limit', async (t) => {
  const chain = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`t${n}`, made(n === 0 ? 'root' : `t${n - 1}`)]),
  )
  const { state, holderOf } = of({ ...chain, login: ann })
  await holderOf('login')
  t.equal(await holderOf('login'), 'oidc person-ann')
  t.equal(state.reads, 1)
  t.equal(await holderOf('t99'), 't83')
  t.equal(state.reads, 18)
})

await t.test('a token whose record cannot be read is its own holder', async (t) => {
  const { state, holderOf } = of({ login: ann })
  state.fails = new Refusal('backend_unavailable')
  t.equal(await holderOf('login'), 'login')
  t.equal(await holderOf('unknown'), 'unknown')
  state.fails = undefined
  t.equal(await holderOf('login'), 'oidc person-ann')
  t.equal(await holderOf('unknown'), 'unknown')
  state.fails = new TypeError('a defect')
  t.equal(await holderOf('login'), 'oidc person-ann')
  await t.rejects(holderOf('other'), TypeError)
})
