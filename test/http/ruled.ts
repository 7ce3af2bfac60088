import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import type { Headers, Started, StartOptions } from '../start.ts'
import { eventsOf, type Told } from './events-of.ts'
import { bearer, EXCHANGE, everyWay, type Issued, open, refusalOf, type Settings } from './people.ts'

/** What a configuration file says under `authorization`. */
export type Authorization = {
  readonly rules?: readonly Readonly<Record<string, unknown>>[]
  readonly unmatched?: readonly string[] | 'refuse'
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

/** A rule for all who are in one of these groups at the provider. */
export const group = (name: string, groups: readonly string[], ...grants: string[]) => ({
  name,
  method: 'oidc',
  provider: 'main',
  claim: 'groups',
  any_of: groups,
  grants,
})

/** A service with every way in, under rules. */
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

/** Starts the service anew under other rules; what `between` does is done while it is down. */
export const reopenUnder = (service: Started, authorization: Authorization, between?: () => Promise<void>) =>
  service.reopen(async () => {
    await writeFile(join(service.directory, 'rollcall.yml'), JSON.stringify({ authorization }))
    await between?.()
  })

/** Exchanges a token of the service account `apps/web`, or of another one. */
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

/** What the last event of this type says. */
export const lastOf = async ({ directory }: Started, ...types: readonly string[]): Promise<Told['data']> =>
  (await eventsOf(directory, ({ type }) => types.includes(type))).at(-1)?.data ?? {}

/** The last token that was issued. */
export const lastIssued = (service: Started) => lastOf(service, 'TokenIssued', 'TokenIssued.v2')

/** What somebody may do, by what some requests are answered: whether flags of a namespace can be listed, made, and tokens be listed. */
export const reachOf = async ({ request }: Started, token: string) => {
  const ask = async (method: string, path: string, body?: object) => {
    const { status, reason } = refusalOf(await request(method, path, body, bearer(token)))
    // Whoever may make a flag is told that this one has no key.
    return status === 401 || status === 403 ? reason : 'yes'
  }
  const of = async (namespace: string) => ({
    reads: await ask('GET', `/api/v1/namespaces/${namespace}/flags`),
    writes: await ask('POST', `/api/v1/namespaces/${namespace}/flags`, { key: '', name: '' }),
  })
  return { shop: await of('shop'), other: await of('default'), tokens: await ask('GET', '/auth/v1/tokens') }
}
