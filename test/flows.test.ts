import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { instrumentedBuild, nextPath, type Path } from './instrumented.ts'
import type { Response } from './start.ts'

const N = '/api/v1/namespaces/default'
type Send = () => Promise<Response<unknown>>

/** Modules of the instrumented build. They share its source. */
const build = await instrumentedBuild(t)
const load = async <T>(name: string) => (await import(pathToFileURL(join(build, name)).href)) as T
const people = await load<typeof import('./http/people.ts')>('http/people.js')
const { lyingClient, lyingProvider } = await load<typeof import('./auth/stand-ins/liar.ts')>('auth/stand-ins/liar.js')
const { startService } = await load<typeof import('./start.ts')>('start.js')
const { measureSlicesBy } = await load<typeof import('../src/base/event-loop.ts')>('../src/base/event-loop.js')

// No work yields because the machine is slow, so the figures do not depend on its speed.
measureSlicesBy(() => 0)
// The clock begins at noon, because a login around midnight also reads the logouts of the next day.
let time = Date.parse('2040-01-01T12:00:00Z')
const now = () => new Date(time++)
const provider = await lyingProvider(t)
provider.now = () => now().getTime()
const service = await startService(
  t,
  {
    'server.public_url': people.PUBLIC,
    'rate_limit.enabled': 'false',
    ...people.oidcSettings('main', provider.url, lyingClient),
  },
  { now },
)
const { request } = service
await request('POST', `${N}/flags`, { key: 'flow', name: 'Flow', type: 'BOOLEAN_FLAG_TYPE', enabled: true })
const past = encodeURIComponent(now().toISOString())

/** Changes of file of a request that writes. They depend on the number of messages in which the writer thread confirms it. */
const MESSAGES = 2

/**
 * Paths of the second request of each kind through the source: the ceiling of each figure. A ceiling may only go down.
 * `prepare` runs before each request and returns the function that sends it.
 */
const FLOWS: readonly {
  readonly name: string
  readonly ceiling: Path
  readonly writes: boolean
  readonly prepare: () => Promise<Send>
}[] = [
  {
    name: 'token creation',
    ceiling: { files: 48, changes: 100 },
    writes: true,
    prepare: async () => () => request('POST', '/auth/v1/method/token', { name: 'flow' }),
  },
  {
    name: 'Boolean evaluation',
    ceiling: { files: 30, changes: 58 },
    writes: false,
    prepare: async () => () =>
      request('POST', '/evaluate/v1/boolean', { namespaceKey: 'default', flagKey: 'flow', entityId: 'e', context: {} }),
  },
  {
    name: 'rollout creation',
    ceiling: { files: 63, changes: 180 },
    writes: true,
    prepare: async () => () =>
      request('POST', `${N}/flags/flow/rollouts`, { threshold: { percentage: 50, value: true } }),
  },
  {
    name: 'OpenID Connect callback',
    ceiling: { files: 68, changes: 263 },
    writes: true,
    prepare: async () => {
      const { authorizeUrl, cookie } = await people.begin(service, people.OIDC)
      const query = await people.visit(authorizeUrl)
      return () => people.comeBack(service, people.OIDC, query, { cookie, accept: 'application/json' })
    },
  },
  {
    name: 'a flag read at a past moment',
    ceiling: { files: 39, changes: 86 },
    writes: false,
    prepare: async () => () => request('GET', `${N}/flags/flow?at=${past}`),
  },
  {
    name: 'a page of the history',
    ceiling: { files: 63, changes: 208 },
    writes: false,
    prepare: async () => () => request('GET', '/audit/v1/events?type=FlagCreated&order=asc&limit=1'),
  },
]

for (const { name, ceiling, writes, prepare } of FLOWS)
  await t.test(`the request "${name}" uses no more files of the source than its budget`, async (t) => {
    t.equal((await (await prepare())()).status, 200)
    const send = await prepare()
    const path = nextPath(Number(new URL(service.url).port))
    t.equal((await send()).status, 200)
    const { files, changes } = await path
    t.comment(`${name}: ${files} files (at most ${ceiling.files}), ${changes} changes (at most ${ceiling.changes})`)
    t.ok(files > 5 && files <= ceiling.files, `${files} files, at most ${ceiling.files}`)
    t.ok(
      changes > 5 && changes <= ceiling.changes + (writes ? MESSAGES : 0),
      `${changes} changes of file, at most ${ceiling.changes}`,
    )
  })
