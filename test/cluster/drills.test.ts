import { copyFile, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { type Authentication, everyWay, logIn, OIDC } from '../http/people.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { FLAGS, linesOf, names, onStack, own, ready, refusedStart, written } from './restoring.ts'
import { type Bearer, issue, known, revoke } from './revoking.ts'
import { type Stack, startStack } from './stack.ts'

type Controlled = Stack<'eventstore' | 'mongodb' | 'redis'>
const needs = { eventstore: 'restores copies', mongodb: 'restores copies', redis: 'restores copies' }

import { walkingClock } from '../walking-clock.ts'

/** Acknowledged data: active and revoked tokens, flags, logins. */
type Acknowledged = {
  readonly tokens: readonly Bearer[]
  readonly revoked: readonly Bearer[]
  readonly flags: readonly string[]
  readonly person: string
}
const EVERY = 12
const issued = async (service: Started, count: number) => {
  const all: Awaited<ReturnType<typeof issue>>[] = []
  for (let n = 0; n < count; n++) all.push(await issue(service))
  return all
}

/** Deployment after a run, the data acknowledged before and after its older copies, and copies of all stores. */
const ran = async (t: Test, stack: Controlled) => {
  const keys = join(await newDirectory(t), 'keys')
  const settings = { ...stack.settings, 'keys.file': keys, 'rate_limit.enabled': 'false' }
  // The provider uses the system clock.
  const clock = walkingClock(t, new Date().toISOString())
  const { service, liar } = await everyWay(t, settings, { clock })
  const acknowledge = async (sub: string, toRevoke: readonly { readonly id: string; readonly bearer: Bearer }[]) => {
    liar.lies = { claims: { sub } }
    const { authentication } = await logIn(service, OIDC)
    const tokens = await issued(service, EVERY)
    const flag = { key: sub, name: sub, type: 'BOOLEAN_FLAG_TYPE' }
    if ((await known(() => service.request('POST', FLAGS, flag))).status !== 200) throw new Error('no flag')
    for (const { id } of toRevoke) await revoke(service, id)
    const revoked = toRevoke.map(({ bearer }) => bearer)
    return { tokens: tokens.map(({ bearer }) => bearer), revoked, flags: [sub], person: authentication.id }
  }
  const redis = new Redis(stack.settings['redis.url']!)
  t.teardown(() => redis.disconnect())
  const copyOf = async () => {
    const events = stack.eventstore.copy()
    // A backup of a running service is made in steps, so later copies contain a little more.
    const between = await issued(service, 3)
    const mongo = await stack.mongodb.copy()
    await redis.save()
    await copyFile(keys, `${keys}.copy`)
    return { events, between: between.map(({ bearer }) => bearer), mongo, redis: await stack.redis.copy() }
  }
  const ending = await issued(service, 2 * EVERY)
  const before: Acknowledged = await acknowledge('alice', ending.slice(0, EVERY))
  await written(service)
  const older = await copyOf()
  const after: Acknowledged = await acknowledge('bob', ending.slice(EVERY))
  await service.close()
  const current = {
    events: stack.eventstore.copy(),
    mongo: await stack.mongodb.copy(),
    redis: await stack.redis.copy(),
  }
  redis.disconnect()
  return { settings, keys, before, after, older, current }
}
type Deployment = Awaited<ReturnType<typeof ran>>

type Copy = 'older' | 'another’s' | 'lost'
const servers = ['EventStoreDB', 'MongoDB', 'Redis', 'key file'] as const
type Case = Partial<Readonly<Record<(typeof servers)[number], Copy>>> & {
  /** Whether the operator accepts lost keys. */
  readonly accepted?: true
  /** Message of a refused start; absent if it starts. */
  readonly refused?: RegExp
  /** Whether the data acknowledged after the older copies is present or lost. */
  readonly after?: 'there' | 'gone'
  /** Whether the data acknowledged before is present. */
  readonly before?: 'there' | 'gone'
  /** People whose personal data is lost. */
  readonly lost?: readonly ('alice' | 'bob')[]
  /** Log lines at ERROR, except that of the ledger. */
  readonly told?: readonly RegExp[]
  /** State of the ledger; `ok` if absent. */
  readonly ledger?: 'suspended' | 'diverged'
}
const rebuilt = /^the read models do not match the event log and are rebuilt/
const lostKeys = /^personal data cannot be read/

/** Restored copies and the outcome of the next start. The guide lists the same rows. */
const cases: readonly Case[] = [
  {},
  { EventStoreDB: 'older', after: 'gone', told: [rebuilt], ledger: 'diverged' },
  { EventStoreDB: 'another’s', refused: /belongs to another deployment|keys do not match this event log/ },
  { EventStoreDB: 'lost', refused: /belongs to another deployment: it is empty/ },
  { MongoDB: 'older', lost: ['bob'], told: [lostKeys] },
  { MongoDB: 'another’s', refused: /keys do not match this event log/ },
  { MongoDB: 'lost', refused: /keys do not match this event log/ },
  { MongoDB: 'lost', accepted: true, lost: ['alice', 'bob'], told: [lostKeys], ledger: 'suspended' },
  { EventStoreDB: 'older', MongoDB: 'older', after: 'gone', told: [rebuilt] },
  { EventStoreDB: 'another’s', MongoDB: 'another’s', refused: /keys do not match this event log/ },
  { Redis: 'older' },
  { Redis: 'another’s' },
  { Redis: 'lost' },
  { 'key file': 'older' },
  { 'key file': 'another’s', refused: /keys do not match this event log/ },
  { 'key file': 'lost', refused: /keys do not match this event log/ },
  { EventStoreDB: 'lost', MongoDB: 'lost', Redis: 'lost', before: 'gone', after: 'gone' },
]
const nameOf = (one: Case) =>
  servers
    .filter((server) => one[server] !== undefined)
    .map((server) => `${server} ${one[server]}`)
    .concat(one.accepted ? ['accepted'] : [])
    .join(', ') || 'nothing'

const putBack = async (stack: Controlled, own: Deployment, other: Deployment, one: Case) => {
  const from = (server: (typeof servers)[number]) => {
    const copy = one[server]
    return copy === undefined ? own.current : copy === 'older' ? own.older : copy === 'lost' ? undefined : other.current
  }
  await stack.eventstore.restore(from('EventStoreDB')?.events)
  await stack.mongodb.restore(from('MongoDB')?.mongo)
  await stack.redis.restore(from('Redis')?.redis)
  await copyFile(one['key file'] === 'another’s' ? `${other.keys}.copy` : `${own.keys}.copy`, own.keys)
  if (one['key file'] === 'lost') await rm(own.keys)
}

/** Number of accepted tokens. */
const taken = async (service: Started, bearers: readonly Bearer[]) => {
  const statuses = await Promise.all(
    bearers.map(
      async (bearer) => (await known(() => service.request('GET', '/auth/v1/self', undefined, bearer))).status,
    ),
  )
  for (const status of statuses) if (status !== 200 && status !== 401) throw new Error(`answered ${status}`)
  return statuses.filter((status) => status === 200).length
}
const personIn = async (service: Started, id: string) => {
  const { status, json } = await known(() => service.request<Authentication>('GET', `/auth/v1/tokens/${id}`))
  if (status === 404) return 'gone'
  return 'io.service.auth.lost' in json.metadata ? 'lost' : json.metadata['io.service.auth.oidc.sub']
}

/** Checks the acknowledged data. A revoked token is valid again only if its revocation is lost and its issue is not. */
const counted = async (t: Test, service: Started, { before, after, older }: Deployment, one: Case) => {
  const { before: old = 'there', after: late = 'there', lost = [] } = one
  const of = (bearers: readonly Bearer[], is: 'there' | 'gone') => (is === 'there' ? bearers.length : 0)
  t.strictSame(
    {
      before: await taken(service, before.tokens),
      between: await taken(service, older.between),
      after: await taken(service, after.tokens),
      revokedBefore: await taken(service, before.revoked),
      revokedAfter: await taken(service, after.revoked),
    },
    {
      before: of(before.tokens, old),
      between: of(older.between, late),
      after: of(after.tokens, late),
      revokedBefore: 0,
      revokedAfter: old === 'there' && late === 'gone' ? after.revoked.length : 0,
    },
  )
  const flags = [...(old === 'there' ? before.flags : []), ...(late === 'there' ? after.flags : [])]
  t.strictSame((await names(service)).toSorted(), flags.toSorted())
  const person = (name: 'alice' | 'bob', is: 'there' | 'gone') =>
    is === 'gone' ? 'gone' : lost.includes(name) ? 'lost' : name
  t.equal(await personIn(service, before.person), person('alice', old))
  t.equal(await personIn(service, after.person), person('bob', late))
}

await onStack(
  'a start after each store is restored from a copy',
  async (t, stack) => {
    const { stack: foreign } = await startStack(t, { needs })
    const [deployment, other] = [await ran(t, stack), await ran(t, foreign!)]
    for (const one of cases)
      await t.test(nameOf(one), async (t) => {
        await putBack(stack, deployment, other, one)
        const [directory, clock] = [await newDirectory(t), walkingClock(t, new Date().toISOString())]
        const log = async () => own(linesOf(await readFile(join(directory, 'log'), 'utf8')))
        if (one.refused) {
          t.match(await refusedStart(t, deployment.settings, { directory, clock }), one.refused)
          t.equal((await log()).length, 1, 'in one line')
          return
        }
        const accepting = one.accepted ? { acceptLostKeys: 'MongoDB had no backup' } : {}
        const service = await startService(t, deployment.settings, { directory, clock, ...accepting })
        await ready(service)
        await counted(t, service, deployment, one)
        const job = /^rollcall_job_last_outcome\{name="cleanup-token",outcome="ok"\} 1$/m
        if (one.Redis) await eventually(async () => job.test(await service.metrics()), 'the end of a job')
        const state = async () => (await service.request<{ state: string }>('GET', '/audit/v1/ledger')).json.state
        const { ledger: expected = 'ok' } = one
        await eventually(async () => (await state()) === expected, `the ledger is ${expected}`)
        const lines = (await log()).filter((line) => !/^(?:the ledger is|history is damaged)/.test(line))
        t.match(lines, one.told ?? [])
        t.equal(lines.length, one.told?.length ?? 0, 'nothing else')
        const made = await issue(service)
        await revoke(service, made.id)
        t.equal(await taken(service, [made.bearer]), 0, 'it goes on')
      })
  },
  { needs },
)

await t.test('the guide lists exactly the restore drills of this test', async (t) => {
  const guide = await readFile(resolve(import.meta.dirname, '../../../docs/guides/operations.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| ((?:nothing|EventStoreDB|MongoDB|Redis|key file)[^|]*) \| (begins|refused)/gm)]
  t.strictSame(
    rows.map(([, name, start]) => [name, start]),
    cases.map((one) => [nameOf(one), one.refused ? 'refused' : 'begins']),
  )
})
