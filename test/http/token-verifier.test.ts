import t from 'tap'
import { allowed } from '../../src/access/reach.ts'
import { bitOf } from '../../src/access/rights.ts'
import { mint, plausible } from '../../src/auth/client-token.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { CLIENT_TOKEN } from '../../src/base/token-form.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import type { EventLog } from '../../src/events/log.ts'
import { METHODS } from '../../src/events/token.ts'
import { tokenVerifier } from '../../src/http/auth/token-verifier.ts'
import { project } from '../../src/projections/projection.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row, Views } from '../../src/projections/views.ts'
import { lagging, memoryLog } from '../memory-log.ts'

const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'system' } } as const

type Progress = Pick<Parameters<typeof tokenVerifier>[0], 'newest' | 'seen' | 'viewsReached'>
/** Memory and view lack events that the log has. */
const behind = { seen: async () => false, viewsReached: async () => false }

const setup = async (expiresAt?: string, access: object = { namespace: 'a' }) => {
  let time = Date.parse('2026-01-01T00:00:00.000Z')
  const now = () => new Date(time)
  const log = memoryLog()
  const leader = lagging(log)
  const { execute } = executor(log, enveloper(clear, 'test', now), { clock: systemClock, format: () => FORMAT })
  const index = tokenIndex(10)
  let row: Row<TokenDoc> | undefined
  let searches = 0
  const list = async () => (searches++, { rows: row ? [row] : [], total: 1 })
  const views = { list } as unknown as Views
  const digest = (secret: string) => `k.${Buffer.from(secret.padEnd(32, '.')).toString('base64url')}`
  /** Verifier of an instance that has all events, unless `progress` differs. */
  const check = (progress: Partial<Progress> = {}) =>
    tokenVerifier({
      index,
      digest,
      plausible: () => true,
      log: leader.log,
      views,
      now,
      alone: false,
      newest: log.head,
      seen: async () => true,
      viewsReached: async () => t.fail('the view is not needed'),
      ...progress,
    })
  const issue = {
    id: '5d1c3a70-8f2e-4b6d-9a10-000000000001',
    digest: digest('s'),
    method: 'token',
    issuedAt: now().toISOString(),
    attributes: {},
    metadata: {},
    ...access,
  } as const
  const { stored } = await execute(
    token,
    issue.id,
    'IssueToken',
    { ...issue, ...(expiresAt && { expiresAt }) },
    context,
  )
  row = project(tokens, undefined, stored[0]!)
  return {
    check,
    index,
    row,
    hide: leader.hide,
    reads: leader.reads,
    execute,
    id: issue.id,
    searches: () => searches,
    pass: (ms: number) => void (time += ms),
    show: (other: Row<TokenDoc> | undefined) => void (row = other),
  }
}

await t.test('a valid token is found and cached', async (t) => {
  const { check, index, row } = await setup()
  index.remember(row)
  const { verify, cached } = check()
  t.equal(cached('s'), undefined)
  t.match(await verify('s'), { namespace: 'a', method: 'token' })
  t.match(cached('s'), { namespace: 'a' })
  t.equal(await verify('other'), undefined)
})

await t.test('a token that has ended is refused without reading the log', async (t) => {
  const { check, index, row, reads } = await setup()
  index.remember(row)
  const { verify } = check()
  t.match(await verify('s'), { method: 'token' })
  t.equal(reads(), 1)
  index.remember({ ...row, revision: 1n, doc: { ...row.doc!, deletedAt: '2026-01-01T00:00:00.000Z' } })
  t.equal(await verify('s'), undefined)
  t.equal(reads(), 1)
})

await t.test('a text that cannot be a token is not searched', async (t) => {
  const forbidden = (): never => {
    throw new Error('nothing is asked')
  }
  const { index } = await setup()
  const nothing = { read: forbidden, list: forbidden } as unknown as EventLog & Views
  const { verify } = tokenVerifier({
    index,
    plausible,
    log: nothing,
    views: nothing,
    now: () => new Date(0),
    digest: () => String(forbidden()),
    alone: false,
    newest: forbidden,
    seen: forbidden,
    viewsReached: forbidden,
  })
  const minted = mint('token')
  const mistyped = `${minted.slice(0, 10)}${minted[10] === 'a' ? 'b' : 'a'}${minted.slice(11)}`
  for (const text of [mistyped, `${minted.slice(0, -1)}${minted.endsWith('0') ? '1' : '0'}`, 'with space', ''])
    t.equal(await verify(text), undefined, text)
  t.ok(plausible(minted) && plausible('a-value-of-the-operator'))
})

await t.test('tokens of every earlier format are accepted, and mistyped ones are not', async (t) => {
  // Frozen: entries are added, never changed or removed.
  const forms = [
    'rct_8HTY1sY73ttiAPGbNbgZXmdlRV9Whv9GVYaRKV2PkMf0LauW9',
    'rcs_meAURgPWvXuh8ml14NOx9CmSK2THisCIHGzMF7IsXMh0bae17',
    'rck_KwhfJq0OiwgAB29Rvn2c7BwbSAZxnhwyi5jrrNcdmWL2aWwKM',
    'rcb_hwNhnDuQMOaJziCDlOXg2yQaMEE0G3lhZcCWl73GP973gIUCi',
  ]
  for (const form of forms) {
    t.ok(plausible(form), form)
    t.notOk(plausible(`${form.slice(0, 9)}${form[9] === 'x' ? 'y' : 'x'}${form.slice(10)}`), form)
  }
  for (const kind of [...METHODS, 'bootstrap', 'publishable'] as const)
    t.match(`x${mint(kind)}.`, CLIENT_TOKEN, `a token of ${kind} is found in a text`)
  for (const kind of [...METHODS, 'bootstrap'] as const) {
    const [minted, known] = [mint(kind), forms.find((form) => form.startsWith(mint(kind).slice(0, 4)))]
    t.equal(minted.length, known?.length, `a token of ${kind} has a form that stands here`)
  }
})

await t.test('a revoked token stays refused, whatever the index in memory holds', async (t) => {
  const { check, index, row, execute, id } = await setup()
  index.remember(row)
  const { verify, cached } = check()
  await verify('s')
  const { stored } = await execute(token, id, 'RevokeToken', { id }, context)
  index.remember(project(tokens, row, stored[0]!))
  t.equal(cached('s'), undefined)
  t.equal(await verify('s'), undefined)
  index.remember(row)
  t.equal(await check().verify('s'), undefined, 'a row that brings it back grants nothing')
})

await t.test('a forged row of the read model that gives a token more rights or time has no effect', async (t) => {
  const { check, index, row, pass } = await setup('2026-01-01T00:00:01.000Z')
  const { namespace: _namespace, ...wide } = row.doc!
  index.remember({ ...row, doc: { ...wide, expiresAt: '2036-01-01T00:00:00.000Z' } })
  const { verify, cached } = check()
  t.match(await verify('s'), { namespace: 'a' })
  pass(999)
  t.ok(cached('s'))
  pass(1)
  t.equal(cached('s'), undefined, 'at the instant of its own expiry it is over')
  t.equal(await verify('s'), undefined)
})

await t.test('a token that is not in memory is searched in the read model only after a wait', async (t) => {
  const { check, index, row } = await setup()
  const catchesUp = async () => {
    index.remember(row)
    return true
  }
  t.equal(await check().verify('s'), undefined)
  t.match(await check({ seen: catchesUp }).verify('s'), { namespace: 'a' })
})

await t.test('a view that has every event is searched if memory is behind or has dropped tokens', async (t) => {
  const { check, index, row, searches } = await setup()
  const viewed = { ...behind, viewsReached: async () => true }
  t.match(await check(viewed).verify('s'), { namespace: 'a' })
  t.equal(searches(), 1)
  for (let n = 0; n <= 20; n++) {
    const digest = `k.${Buffer.from(String(n).padEnd(32, '.')).toString('base64url')}`
    const key = `5d1c3a70-8f2e-4b6d-9a10-1000000000${10 + n}`
    index.remember({ ...row, key, doc: { ...row.doc!, digest } })
  }
  t.equal(index.find(index.keyOf(row.doc!.digest)).state, 'evicted')
  const { verify } = check()
  t.match(await verify('s'), { namespace: 'a' })
  t.equal(searches(), 2)
  t.ok(index.find(index.keyOf(row.doc!.digest)).entry, 'it comes back')
  for (let n = 0; n < 100; n++) t.equal(await verify(`guess ${n}`), undefined)
  t.equal(searches(), 2, 'what is none of the forgotten is no token')
})

await t.test('a token that memory and view may not have received yet is refused with auth_stale', async (t) => {
  const { check, show, row, searches } = await setup()
  show(undefined)
  await t.rejects(check({ newest: async () => undefined }).look('s'), new Refusal('auth_stale'), 'unknown head')
  t.equal(searches(), 0, 'nothing is searched while the log cannot be read')
  await t.rejects(check(behind).look('s'), new Refusal('auth_stale'))
  show(row)
  t.match(await check(behind).verify('s'), { namespace: 'a' }, 'its row is written before later ones')
})

await t.test('a guess is refused as invalid once memory or the view has every event', async (t) => {
  const { check } = await setup()
  t.same(await check().look('guess'), { isOurs: false })
  const { check: emptied, show } = await setup()
  show(undefined)
  const { look } = emptied({ ...behind, viewsReached: async () => true })
  t.same(await look('guess'), { isOurs: false }, 'the view has every event')
  const seen = async (_: bigint, withinMs: number) => withinMs === 0
  t.same(await check({ ...behind, seen }).look('guess'), { isOurs: false }, 'memory has, after the wait for the view')
})

await t.test('a token that memory receives during the waits is found', async (t) => {
  const { check, index, row, show, searches } = await setup()
  show(undefined)
  const learn = async () => {
    index.remember(row)
    return false
  }
  t.match(await check({ ...behind, viewsReached: learn }).verify('s'), { namespace: 'a' }, 'in that for the view')
  const { check: other, index: memory, searches: none } = await setup()
  const learnFirst = async () => {
    memory.remember(row)
    return false
  }
  const { verify } = other({ seen: learnFirst })
  t.match(await verify('s'), { namespace: 'a' }, 'in that for memory, which lacks later events')
  t.strictSame([searches(), none()], [1, 0])
})

await t.test('a token whose end memory receives during the wait is refused as a token of this service', async (t) => {
  const { check, index, row } = await setup()
  const ends = async () => {
    index.remember(row)
    index.remember({ ...row, revision: 1n, doc: { ...row.doc!, deletedAt: '2026-01-01T00:00:00.000Z' } })
    return false
  }
  t.same(await check({ ...behind, seen: ends }).look('s'), { isOurs: true })
})

await t.test('guesses at an instance that is behind share the check and the search of the view', async (t) => {
  const { check, show, searches } = await setup()
  show(undefined)
  let checks = 0
  const viewsReached = async () => (checks++, false)
  const { look } = check({ ...behind, viewsReached })
  const guesses = Array.from({ length: 200 }, (_, n) => look(`guess ${n}`).catch(({ reason }: Refusal) => reason))
  t.strictSame(new Set(await Promise.all(guesses)), new Set(['auth_stale']))
  t.ok(checks <= 2, `${checks} checks`)
  const whole = check({ ...behind, viewsReached: async () => true })
  const judged = await Promise.all(Array.from({ length: 200 }, (_, n) => whole.look(`guess ${n}`)))
  t.ok(judged.every(({ isOurs }) => !isOurs))
  t.ok(searches() <= 6, `${searches()} searches`)
})

await t.test('a dropped token that the view may lack is refused with auth_stale until the view has it', async (t) => {
  const { check, index, row, show } = await setup()
  index.remember(row)
  for (let n = 0; n <= 20; n++) {
    const digest = `k.${Buffer.from(String(n).padEnd(32, '.')).toString('base64url')}`
    const key = `5d1c3a70-8f2e-4b6d-9a10-1000000000${10 + n}`
    index.remember({ ...row, key, doc: { ...row.doc!, digest } })
  }
  t.equal(index.find(index.keyOf(row.doc!.digest)).state, 'evicted')
  show(undefined)
  await t.rejects(check({ viewsReached: async () => false }).look('s'), new Refusal('auth_stale'))
  const written = async () => {
    show(row)
    return true
  }
  t.match(await check({ viewsReached: written }).verify('s'), { namespace: 'a' })
})

await t.test('a token without a stream on a node that is behind is refused with auth_stale', async (t) => {
  const { check, index, row, hide, id } = await setup()
  index.remember(row)
  const { verify, byId } = check()
  hide(() => true)
  await t.rejects(verify('s'), new Refusal('auth_stale'))
  await t.rejects(Promise.resolve(byId(id)), new Refusal('auth_stale'))
  await t.rejects(check({ newest: async () => undefined }).verify('s'), new Refusal('auth_stale'), 'unknown head')
  hide(() => false)
  t.match(await verify('s'), { namespace: 'a' })
})

await t.test('a row of the read model without a stream counts for nothing once the log is not behind', async (t) => {
  const { check, index, row } = await setup()
  const id = '5d1c3a70-8f2e-4b6d-9a10-000000000002'
  index.remember({ ...row, key: id })
  const { verify, look, byId } = check()
  t.equal(await verify('s'), undefined)
  t.match(await look('s'), { isOurs: true, entry: undefined })
  t.equal(await byId(id), undefined)
})

await t.test('a token that is known in memory to have ended is refused at once', async (t) => {
  const { index, row, execute, id, check, pass, hide } = await setup()
  index.remember(row)
  const { verify, cached } = check()
  t.ok(await verify('s'))
  hide(({ revision }) => revision > 0n)
  const to = '2026-01-01T00:00:01.000Z'
  const shorter = await execute(token, id, 'ExpireTokenEarlier', { id, expiresAt: to, now: to }, context)
  const changed = project(tokens, row, shorter.stored[0]!)
  index.remember(changed)
  t.ok(await verify('s'))
  pass(1000)
  t.equal(cached('s'), undefined)
  t.equal(await verify('s'), undefined, 'it has expired')
  pass(-1000)
  const { stored } = await execute(token, id, 'RevokeToken', { id }, context)
  const finding = verify('s')
  index.remember(project(tokens, changed, stored[0]!))
  t.equal(await finding, undefined, 'it was revoked while it was looked up')
  t.equal(await verify('s'), undefined)
  t.equal(await check(behind).verify('s'), undefined, 'also where the view still has it')
})

const viewer = (...places: readonly string[]) => ({
  grants: places.map((place) => ({ place, role: 'viewer' })),
  roles: { viewer: ['flag.read'] },
})

await t.test('reduced grants of a token take effect at once, before its events show them', async (t) => {
  const wide = viewer('shop', 'blog')
  const { index, row, execute, id, check, hide, reads } = await setup(undefined, { ...wide, policy: 1 })
  index.remember(row)
  const { verify, cached } = check()
  const may = (entry: Awaited<ReturnType<typeof verify>>) =>
    ['shop', 'blog', '*'].map((place) => entry && allowed(entry.reach, bitOf('flag.read'), place))
  t.same(may(await verify('s')), [true, true, false])
  t.same([may(cached('s')), cached('s')?.policy], [[true, true, false], 1])
  hide(({ revision }) => revision > 0n)
  const { stored } = await execute(
    token,
    id,
    'NarrowGrants',
    { id, from: wide, to: viewer('shop'), policy: 2 },
    context,
  )
  t.ok(index.apply(stored[0]!))
  t.equal(cached('s'), undefined, 'what was remembered of it is asked again')
  t.same(may(await verify('s')), [true, false, false])
  t.equal(cached('s'), undefined)
  hide(() => false)
  t.same(may(await verify('s')), [true, false, false])
  t.equal(reads(), 3)
  t.same([may(cached('s')), cached('s')?.policy], [[true, false, false], 2])
})

await t.test('a row of the read model with more grants than the log gives a token no right', async (t) => {
  const { index, row, check } = await setup(undefined, viewer('shop'))
  const { reach: _reach, grants: _grants, ...full } = row.doc!
  index.remember({ ...row, revision: 9n, doc: full })
  const { verify, cached } = check()
  t.notOk((await verify('s'))?.reach.full)
  t.equal(cached('s'), undefined)
})
