import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { clusterSettings, EXCHANGE, type Issued, open, type Settings } from '../http/people.ts'
import { type Response, type Started, startService } from '../start.ts'
import type { RealCluster } from './cluster.ts'

const root = resolve(import.meta.dirname, '../../..')
export type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}
export const manifestsOf = (text: string): readonly Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
export const manifests = (path: string) => manifestsOf(readFileSync(join(root, path), 'utf8'))

type Resources = {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

/** Collection path of a kind, from API discovery; undefined for an unknown kind. */
const collectionOf = async (cluster: RealCluster, { apiVersion, kind, metadata }: Manifest, namespace: string) => {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { status, json } = await cluster.ask('GET', base)
  if (status === 404) return undefined
  const found = (json as unknown as Resources).resources.find((each) => each.kind === kind && !each.name.includes('/'))
  return found && `${base}/${found.namespaced ? `namespaces/${metadata.namespace ?? namespace}/` : ''}${found.name}`
}

/** Posts a manifest to the API server with a query. */
export const post = async (cluster: RealCluster, manifest: Manifest, namespace: string, query = '') => {
  const collection = await collectionOf(cluster, manifest, namespace)
  return collection === undefined ? undefined : cluster.ask('POST', `${collection}${query}`, manifest)
}
export const apply = async (cluster: RealCluster, manifest: Manifest, namespace: string): Promise<void> => {
  const answer = await post(cluster, manifest, namespace)
  if (answer?.status !== 201) throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${answer?.text}`)
}
export const newNamespace = (cluster: RealCluster, name: string, labels: Readonly<Record<string, string>> = {}) =>
  cluster.done('POST', '/api/v1/namespaces', { metadata: { name, labels } })

export type Bound = { readonly kind: string; readonly apiVersion: string; readonly name: string; readonly uid: string }
type Wanted = { readonly audiences?: readonly string[]; readonly seconds?: number; readonly boundTo?: Bound }
/** Requests a service account token like the kubelet. */
export const tokenOf = async (
  cluster: RealCluster,
  namespace: string,
  name: string,
  { audiences, seconds, boundTo }: Wanted = {},
) => {
  const spec = {
    ...(audiences && { audiences }),
    expirationSeconds: seconds ?? 3600,
    ...(boundTo && { boundObjectRef: boundTo }),
  }
  const made = await cluster.done('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec })
  return (made['status'] as { token: string }).token
}

export const newAccount = (cluster: RealCluster, namespace: string, name: string) =>
  cluster.done('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })

let pods = 0
/** Creates a pod of an account, which no node runs; returns functions for its token and deletion. */
export const newPod = async (cluster: RealCluster, namespace: string, account: string) => {
  const path = `/api/v1/namespaces/${namespace}/pods`
  const made = await cluster.done('POST', path, {
    metadata: { name: `${account}-${pods++}` },
    spec: { serviceAccountName: account, containers: [{ name: 'c', image: 'none' }] },
  })
  const { name, uid } = made['metadata'] as { name: string; uid: string }
  const boundTo = { kind: 'Pod', apiVersion: 'v1', name, uid }
  return {
    name,
    uid,
    token: (wanted: Wanted = {}) => tokenOf(cluster, namespace, account, { boundTo, ...wanted }),
    gone: () => cluster.done('DELETE', `${path}/${name}`, { gracePeriodSeconds: 0 }),
  }
}

/** Reviews a token, with `as` as credential. */
export const reviewed = async (cluster: RealCluster, token: string, as?: string) => {
  const spec = { token, audiences: ['rollcall'] }
  const { status, json } = await cluster.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec }, as)
  return { status, taken: (json.status as { authenticated?: boolean } | undefined)?.authenticated === true }
}

/** Installs the cluster objects of the manifests; returns the token of the service's own account. */
export const installed = async (cluster: RealCluster) => {
  await newNamespace(cluster, 'rollcall')
  for (const manifest of manifests('deploy/kubernetes/serviceaccount.yaml')) await apply(cluster, manifest, 'rollcall')
  await newNamespace(cluster, 'apps')
  for (const name of ['web', 'worker']) await newAccount(cluster, 'apps', name)
  const tokenPath = cluster.file('rollcall-token')
  const renew = async (more: Wanted = {}) =>
    writeFileSync(tokenPath, await tokenOf(cluster, 'rollcall', 'rollcall', more))
  await renew()
  return { tokenPath, renew, own: () => readFileSync(tokenPath, 'utf8') }
}

export const ORCHESTRATOR = 'authentication.methods.orchestrator'
export type Verification = 'token_review' | 'jwks'
export const VERIFICATIONS = ['token_review', 'jwks'] as const satisfies readonly Verification[]

/** Starts a service that uses the cluster. */
export const onCluster = (
  t: Test,
  cluster: RealCluster,
  tokenPath: string,
  verification: Verification,
  settings: Settings = {},
  now?: () => Date,
) =>
  startService(
    t,
    {
      ...clusterSettings({ url: cluster.url, caPath: cluster.caPath, tokenPath }),
      [`${ORCHESTRATOR}.verification`]: verification,
      [`${ORCHESTRATOR}.audiences`]: 'rollcall',
      ...settings,
    },
    { ...(now && { now }) },
  )

export const exchange = ({ request }: Started, token: string): Promise<Response<Issued>> =>
  request<Issued>('POST', EXCHANGE, { service_account_token: token }, open)
