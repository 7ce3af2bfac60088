import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CryptoKey, createLocalJWKSet, exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from 'jose'
import { generate } from 'selfsigned'
import { type Answer, accepts, bodyOf, json, listen, type Scope } from './listen.ts'

const AUDIENCE = 'https://kubernetes.default.svc.cluster.local'

type TokenOptions = {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: CryptoKey
}

/** Sends an answer of a media type if the request accepts it, otherwise 406 like an API server. */
const negotiated = (request: IncomingMessage, type: string, answer: Answer): Answer =>
  accepts(request, type)
    ? answer
    : (response) =>
        void response
          .writeHead(406, { 'content-type': 'text/plain; charset=utf-8' })
          .end(`only the following media types are accepted: ${type}\n`)

/**
 * API server of a cluster over https with its own CA: TokenReview, OpenID document and key set. `lies` are answers by
 * path, `now` is its clock. Closes itself.
 */
export const clusterStandIn = async (t: Scope, now = () => new Date()) => {
  const folder = await mkdtemp(join(tmpdir(), 'cluster-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const tls = await generate([{ name: 'commonName', value: `cluster ${randomUUID()}` }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  })
  const caPath = join(folder, 'ca.crt')
  const tokenPath = join(folder, 'token')
  await writeFile(caPath, tls.cert)

  const newKey = async (kid: string = randomUUID(), alg = 'ES256') => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    return { jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } as JWK, privateKey }
  }
  const state = {
    issuer: AUDIENCE,
    keys: [await newKey()],
    bearer: 'canary-bearer-1',
    /** Uids of deleted pods. Their tokens are refused. */
    gone: new Set<string>(),
    lies: {} as Record<string, Answer>,
    /** Changes the status of a TokenReview. */
    status: (honest: Record<string, unknown>): unknown => honest,
    asked: [] as {
      readonly path: string
      readonly authorization: string | undefined
      readonly body: string
      readonly agent: string | undefined
    }[],
    /** Number of connections. */
    connections: 0,
  }
  const known = new WeakSet<object>()
  const writeBearer = (text: string) => writeFile(tokenPath, text)
  await writeBearer(`${state.bearer}\n`)

  const review = async (token: string, audiences = [AUDIENCE]) => {
    try {
      const set = createLocalJWKSet({ keys: state.keys.map(({ jwk }) => jwk) })
      const expected = { issuer: state.issuer, audience: audiences, currentDate: now() }
      const { payload } = await jwtVerify(token, set, expected)
      const { pod, serviceaccount } = payload['kubernetes.io'] as Record<
        string,
        { name: string; uid: string } | undefined
      >
      if (state.gone.has(pod?.uid ?? '')) throw new Error('pod is gone')
      const extra = pod && {
        'authentication.kubernetes.io/pod-name': [pod.name],
        'authentication.kubernetes.io/pod-uid': [pod.uid],
        'authentication.kubernetes.io/credential-id': [`JTI=${payload.jti}`],
      }
      const user = { username: payload.sub, uid: serviceaccount?.uid, groups: ['system:serviceaccounts'], extra }
      return {
        authenticated: true,
        user,
        audiences: [payload.aud].flat().filter((audience) => audiences.includes(audience!)),
      }
    } catch (error) {
      return { user: {}, error: `[invalid bearer token, ${String(error)}]` }
    }
  }

  const url = await listen(
    t,
    async (request, response) => {
      const body = await bodyOf(request)
      const { authorization } = request.headers
      if (!known.has(request.socket)) state.connections++
      known.add(request.socket)
      const path = request.url!
      state.asked.push({ path, authorization, body, agent: request.headers['user-agent'] })
      const lie = state.lies[path]
      if (lie) return lie(response)
      if (path === '/openid/v1/jwks') {
        const type = 'application/jwk-set+json'
        const keys = json(200, { keys: state.keys.map(({ jwk }) => jwk) }, { 'content-type': type })
        return negotiated(request, type, keys)(response)
      }
      // Like a real cluster, it publishes an address that only its own network can resolve.
      if (path === '/.well-known/openid-configuration')
        return negotiated(
          request,
          'application/json',
          json(200, { issuer: state.issuer, jwks_uri: 'https://10.255.255.1:6443/openid/v1/jwks' }),
        )(response)
      if (authorization !== `Bearer ${state.bearer}`)
        return json(401, { kind: 'Status', status: 'Failure', code: 401 })(response)
      if (path !== '/apis/authentication.k8s.io/v1/tokenreviews' || request.method !== 'POST')
        return json(404, { kind: 'Status', code: 404 })(response)
      const asked = JSON.parse(body) as { spec: { token: string; audiences?: string[] } }
      const status = state.status(await review(asked.spec.token, asked.spec.audiences))
      const reviewed = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: asked.spec, status }
      return negotiated(request, 'application/json', json(201, reviewed))(response)
    },
    { key: tls.private, cert: tls.cert },
  )

  /** A service-account token as issued for a pod. */
  const token = ({ claims, header, key }: TokenOptions = {}) => {
    const present = Math.floor(now().getTime() / 1000)
    const { jwk, privateKey } = state.keys[0]!
    return new SignJWT({
      iss: state.issuer,
      sub: 'system:serviceaccount:apps:web',
      aud: [AUDIENCE],
      iat: present,
      nbf: present,
      exp: present + 3600,
      // Not a secret: it is in the audit log of the cluster, and is stored to correlate the two.
      jti: randomUUID(),
      'kubernetes.io': {
        namespace: 'apps',
        node: { name: 'node-1', uid: 'uid-of-node' },
        pod: { name: 'web-0', uid: 'uid-of-pod' },
        serviceaccount: { name: 'web', uid: 'uid-of-account' },
      },
      ...claims,
    })
      .setProtectedHeader({ alg: jwk.alg!, ...(jwk.kid === undefined ? {} : { kid: jwk.kid }), ...header })
      .sign(key ?? privateKey)
  }
  return Object.assign(state, { url, caPath, tokenPath, newKey, writeBearer, token })
}
