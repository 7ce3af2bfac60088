import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { logIn, OIDC, oidcSettings, PUBLIC, refusalOf } from '../http/people.ts'
import { type Started, startService } from '../start.ts'
import { walkingClock } from '../walking-clock.ts'
import { FLAGS, lines, linesOf, names, onStack, own, ready, refusedStart } from './restoring.ts'
import { becomes, issue, known, revoke } from './revoking.ts'

type Settings = Readonly<Record<string, string>>
const flag = (key: string) => ({ key, name: key, type: 'BOOLEAN_FLAG_TYPE' })
const make = (service: Started, key: string) => known(() => service.request('POST', FLAGS, flag(key)))

/** Expects changes on one instance to take effect on the other. */
const together = async (t: Test, one: Started, other: Started) => {
  for (const [here, there] of [
    [one, other],
    [other, one],
  ] as const) {
    const { bearer, id } = await issue(here)
    t.ok(await becomes(there, bearer, 200), 'a token works on both')
    await revoke(there, id)
    t.ok(await becomes(here, bearer, 401), 'and is revoked on both')
  }
}
const lifetime = async (service: Started) => {
  const { authentication } = await logIn(service, OIDC, { accept: 'application/json' })
  return Math.round((Date.parse(authentication.expiresAt!) - Date.parse(authentication.createdAt)) / 60_000)
}
const nothing = async () => undefined

/** Settings that may differ between instances, with their effect. */
const works: Readonly<Record<string, readonly [Settings, (t: Test, a: Started, b: Started) => Promise<unknown>]>> = {
  'cleanup intervals': [{ 'authentication.methods.token.cleanup.interval': '2h' }, nothing],
  'lifetimes of logins: each issues its own, both accept both': [
    { 'authentication.session.token_lifetime': '30m' },
    async (t, a, b) => t.strictSame([await lifetime(a), await lifetime(b)], [24 * 60, 30]),
  ],
  'quotas: each applies its own': [
    { 'quotas.flags_per_namespace': '1' },
    async (t, a, b) => {
      t.equal((await make(a, 'beyond')).status, 200)
      t.match(refusalOf(await make(b, 'refused')), { status: 400, reason: 'quota_exceeded' })
    },
  ],
  'storage.read_only: this one writes no flags': [
    { 'storage.read_only': 'true' },
    async (t, a, b) => {
      t.equal((await make(a, 'written')).status, 200)
      t.not((await make(b, 'not-written')).status, 200)
      t.ok((await names(b)).includes('written'))
    },
  ],
  'size of the token index': [{ 'tokens.index_size': '1' }, nothing],
  'service name: each uses its own in metrics': [
    { 'identifiers.service': 'acme' },
    async (t, a, b) => {
      t.match(await a.metrics(), /^rollcall_view_lease_held [01]$/m)
      t.match(await b.metrics(), /^acme_view_lease_held [01]$/m)
    },
  ],
  'redis.prefix: separate jobs and limits': [{ 'redis.prefix': 'other' }, nothing],
}

await onStack('instances with different settings work together', async (t, stack) => {
  const liar = await lyingProvider(t)
  const settings: Settings = {
    ...stack.settings,
    'keys.file': join(await newDirectory(t), 'keys'),
    'rate_limit.enabled': 'false',
    'server.public_url': PUBLIC,
    ...(oidcSettings('main', liar.url, lyingClient) as Settings),
  }
  // The provider uses the system clock.
  const a = await startService(t, settings, { clock: walkingClock(t, new Date().toISOString()) })
  t.equal((await make(a, 'f')).status, 200)

  for (const [name, [different, each]] of Object.entries(works))
    await t.test(name, async (t) => {
      const clock = walkingClock(t, new Date().toISOString())
      const b = await startService(t, { ...settings, ...different }, { clock })
      await ready(b)
      await together(t, a, b)
      await each(t, a, b)
      t.strictSame(own([...(await lines(a)), ...(await lines(b))]), [], 'no error is logged')
    })

  const otherKeys = join(await newDirectory(t), 'keys')
  const foreign = await startService(t, { 'keys.file': otherKeys })
  await foreign.close()
  await copyFile(otherKeys, `${otherKeys}.copy`)
  const { 'keys.file': _, ...inMongo } = settings
  for (const [name, different, says] of [
    [
      'another prefix of streams',
      { ...settings, 'eventstore.stream_prefix': 'other.', 'eventstore.shared': 'false' },
      /eventstore\.stream_prefix/,
    ],
    [
      'another prefix of streams, where that is meant',
      { ...settings, 'eventstore.stream_prefix': 'other.', 'eventstore.shared': 'true' },
      /belongs to another deployment|keys do not match/,
    ],
    ['another key file', { ...settings, 'keys.file': `${otherKeys}.copy` }, /keys do not match this event log/],
    ['no key file', inMongo, /keeps its keys in a key file.*Set keys\.file/s],
    ['another database', { ...settings, 'mongodb.database': 'other' }, /keys do not match this event log/],
  ] as const)
    await t.test(`${name} is refused with one log line and does not affect the other instance`, async (t) => {
      const directory = await newDirectory(t)
      t.match(await refusedStart(t, different, { directory, clock: walkingClock(t) }), says)
      t.equal(own(linesOf(await readFile(join(directory, 'log'), 'utf8'))).length, 1)
      const { bearer } = await issue(a)
      t.ok(await becomes(a, bearer, 200))
      t.strictSame(own(await lines(a)), [])
    })
})
