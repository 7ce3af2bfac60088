import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import type { Headers, Started, StartOptions } from '../start.ts'
import { eventsOf, type Told } from './events-of.ts'
import { bearer, EXCHANGE, everyWay, type Issued, open, refusalOf, type Settings } from './people.ts'

/** Content of `authorization` in a configuration file. */
export type Authorization = {
  readonly rules?: readonly Readonly<Record<string, unknown>>[]
  readonly unmatched?: readonly string[] | 'refuse'
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

/** Rule for members of one of these groups. */
export const group = (name: string, groups: readonly string[], ...grants: string[]) => ({
  name,
  method: 'oidc',
  provider: 'main',
  claim: 'groups',
  any_of: groups,
  grants,
})

/** Starts a service with every login method under rules. */
export const underRules = (
  t: Test,
  authorization: Authorization,
  settings: Settings = {},
  options: StartOptions = {},
) =>
  everyWay(
    t,
    { 'authentication.methods.codehost.scopes': 'read:org', ...settings },
    { ...options, file: { authorization } },
  )

/** Restarts the service under other rules; `between` runs while it is stopped. */
export const reopenUnder = (service: Started, authorization: Authorization, between?: () => Promise<void>) =>
  service.reopen(async () => {
    await writeFile(join(service.directory, 'rollcall.yml'), JSON.stringify({ authorization }))
    await between?.()
  })

/** Exchanges a token of the service account `apps/web` or another one. */
export const exchange = async (
  { request }: Started,
  cluster: Awaited<ReturnType<typeof clusterStandIn>>,
  [namespace, name]: readonly [string, string] = ['apps', 'web'],
  headers: Headers = {},
) => {
  const claims = {
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': { namespace, serviceaccount: { name, uid: 'uid-of-account' } },
  }
  const body = { service_account_token: await cluster.token({ claims }) }
  return request<Issued>('POST', EXCHANGE, body, { ...open, ...headers })
}

/** Data of the last event of these types. */
export const lastOf = async ({ directory }: Started, ...types: readonly string[]): Promise<Told['data']> =>
  (await eventsOf(directory, ({ type }) => types.includes(type))).at(-1)?.data ?? {}

/** Data of the last issued token. */
export const lastIssued = (service: Started) => lastOf(service, 'TokenIssued', 'TokenIssued.v2')

/** Determines access by requests: list flags of a namespace, create flags, list tokens. */
export const reachOf = async ({ request }: Started, token: string) => {
  const ask = async (method: string, path: string, body?: object) => {
    const { status, reason } = refusalOf(await request(method, path, body, bearer(token)))
    // An authorized creation is refused for its missing key.
    return status === 401 || status === 403 ? reason : 'yes'
  }
  const of = async (namespace: string) => ({
    reads: await ask('GET', `/api/v1/namespaces/${namespace}/flags`),
    writes: await ask('POST', `/api/v1/namespaces/${namespace}/flags`, { key: '', name: '' }),
  })
  return { shop: await of('shop'), other: await of('default'), tokens: await ask('GET', '/auth/v1/tokens') }
}
