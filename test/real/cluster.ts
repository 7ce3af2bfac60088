import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Scope } from '../auth/stand-ins/listen.ts'
import { freePort } from '../free-port.ts'
import { found, missing } from './programs.ts'
import { type Running, serve } from './servers.ts'

/** Reason to skip tests of a real cluster; false if it is available. */
export const skip = missing('etcd', 'kube-apiserver', 'kube-controller-manager')

const ADMIN = 'the-administrator-of-the-cluster'
const ISSUER = 'https://kubernetes.default.svc.cluster.local'

export type Reply = {
  readonly status: number
  readonly text: string
  readonly json: Record<string, unknown> & { readonly status?: unknown }
}
export type KeyKind = 'RS256' | 'ES256'

/** Options of the API server: the first issuer and key sign, all are accepted. */
export type Signing = { readonly issuers: readonly string[]; readonly keys: readonly string[] }

/** Writes a private key for tokens to a file. */
const keyFile = (folder: string, name: string, kind: KeyKind): string => {
  const { privateKey } =
    kind === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const file = join(folder, name)
  writeFileSync(file, privateKey.export({ type: kind === 'RS256' ? 'pkcs1' : 'sec1', format: 'pem' }))
  return file
}

const authority = async (folder: string) => {
  const tls = await generate([{ name: 'commonName', value: 'a cluster' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'kubernetes.default.svc' },
        ],
      },
    ],
  })
  const [caPath, keyPath] = [join(folder, 'ca.crt'), join(folder, 'tls.key')]
  writeFileSync(caPath, tls.cert)
  writeFileSync(keyPath, tls.private)
  return { caPath, keyPath, ca: tls.cert }
}

/** Audit policy that logs all token reviews. */
const AUDIT = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules: [
    { level: 'Metadata', resources: [{ group: 'authentication.k8s.io', resources: ['tokenreviews'] }] },
    { level: 'None' },
  ],
}

/**
 * Starts etcd, an API server with RBAC and a controller manager on loopback. There are no nodes, so pods are stored and
 * not run.
 */
export const realCluster = async (t: Scope) => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-real-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const at = (name: string) => join(folder, name)
  const { caPath, keyPath, ca } = await authority(folder)
  const [store, peer, port] = [await freePort(), await freePort(), await freePort()]
  const url = `https://127.0.0.1:${port}`

  const ask = (method: string, path: string, body?: unknown, token: string = ADMIN): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? '' : JSON.stringify(body)
      const headers = {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(bytes),
      }
      const sent = request(`${url}${path}`, { method, ca, headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = (answer.headers['content-type'] ?? '').includes('json')
          resolve({ status: answer.statusCode ?? 0, text, json: isJson ? (JSON.parse(text) as Reply['json']) : {} })
        })
      })
      sent.on('error', reject)
      sent.end(bytes)
    })
  /** Sends a request that must succeed. */
  const done = async (...asked: Parameters<typeof ask>): Promise<Reply['json']> => {
    const { status, text, json } = await ask(...asked)
    if (status >= 300) throw new Error(`${asked[0]} ${asked[1]} answered ${status}: ${text}`)
    return json
  }

  writeFileSync(at('tokens.csv'), `${ADMIN},administrator,1,"system:masters"\n`)
  writeFileSync(at('audit.yml'), JSON.stringify(AUDIT))
  writeFileSync(
    at('admin.kubeconfig'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority': caPath } }],
      users: [{ name: 'u', user: { token: ADMIN } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  )
  const newKey = (name: string, kind: KeyKind) => keyFile(folder, name, kind)
  let signing: Signing = { issuers: [ISSUER], keys: [newKey('first.key', 'RS256')] }

  mkdirSync(at('etcd'))
  await serve(t, {
    command: found('etcd').path,
    args: [
      `--data-dir=${at('etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=http://127.0.0.1:${store}`,
      `--advertise-client-urls=http://127.0.0.1:${store}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-cluster=default=http://127.0.0.1:${peer}`,
    ],
    log: at('etcd.log'),
    answers: async () => (await fetch(`http://127.0.0.1:${store}/health`)).ok,
  })
  let server: Running
  const startServer = async () => {
    server = await serve(t, {
      command: found('kube-apiserver').path,
      args: [
        `--etcd-servers=http://127.0.0.1:${store}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        `--tls-cert-file=${caPath}`,
        `--tls-private-key-file=${keyPath}`,
        '--service-cluster-ip-range=10.255.255.0/24',
        '--authorization-mode=RBAC',
        `--token-auth-file=${at('tokens.csv')}`,
        `--audit-policy-file=${at('audit.yml')}`,
        `--audit-log-path=${at('audit.log')}`,
        ...signing.issuers.map((issuer) => `--service-account-issuer=${issuer}`),
        ...signing.keys.map((key) => `--service-account-key-file=${key}`),
        `--service-account-signing-key-file=${signing.keys[0]}`,
      ],
      log: at('kube-apiserver.log'),
      answers: async () => (await ask('GET', '/readyz')).status === 200,
    })
  }
  await startServer()
  await serve(t, {
    command: found('kube-controller-manager').path,
    args: [
      `--kubeconfig=${at('admin.kubeconfig')}`,
      `--service-account-private-key-file=${signing.keys[0]}`,
      `--root-ca-file=${caPath}`,
      '--use-service-account-credentials=false',
      '--leader-elect=false',
      '--secure-port=0',
      '--controllers=*',
    ],
    log: at('kube-controller-manager.log'),
    answers: async () => (await ask('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status === 200,
  })

  return {
    url,
    caPath,
    issuer: ISSUER,
    ask,
    done,
    newKey,
    get signing() {
      return signing
    },
    file: at,
    audit: () =>
      readFileSync(at('audit.log'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    /** Restarts the API server with other keys and issuers. */
    restart: async (next: Signing) => {
      signing = next
      await server.stop()
      await startServer()
    },
  }
}
export type RealCluster = Awaited<ReturnType<typeof realCluster>>
