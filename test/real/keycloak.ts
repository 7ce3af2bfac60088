import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../auth/stand-ins/listen.ts'
import { freePort } from '../free-port.ts'
import { found, missing } from './programs.ts'
import { serve } from './servers.ts'

/** Reason to skip tests of Keycloak; false if it is available. */
export const skip = missing('keycloak')

export const ADMIN = { username: 'admin', password: 'the-administrator-of-keycloak' }
export const PASSWORD = 'the-password-of-everybody'
export const CLIENT = { clientId: 'rollcall', clientSecret: 'canary-keycloak-secret' }

type Tree = Readonly<Record<string, unknown>>
export type Mapper = {
  readonly name: string
  readonly protocol: 'openid-connect'
  readonly protocolMapper: string
  readonly config: Readonly<Record<string, string>>
}

/** Mapper of groups into the ID token, with full paths by default. */
export const groupsMapper = (fullPath = true): Mapper => ({
  name: 'groups',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: {
    'claim.name': 'groups',
    'full.path': String(fullPath),
    'id.token.claim': 'true',
    'userinfo.token.claim': 'true',
  },
})
/** Mapper of realm roles into the ID token at `/realm_access/roles`. */
export const rolesMapper: Mapper = {
  name: 'realm roles in the ID token',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-usermodel-realm-role-mapper',
  config: {
    'claim.name': 'realm_access.roles',
    'jsonType.label': 'String',
    multivalued: 'true',
    'id.token.claim': 'true',
    'userinfo.token.claim': 'true',
  },
}

/** Client like the guide for a service at an address; `more` replaces parts of it. */
export const clientAt = (
  address: string,
  provider: string,
  { attributes, ...more }: { readonly attributes?: Tree } & Tree = {},
): Tree => ({
  clientId: CLIENT.clientId,
  secret: CLIENT.clientSecret,
  redirectUris: [`${address}/auth/v1/method/oidc/${provider}/callback`],
  publicClient: false,
  standardFlowEnabled: true,
  directAccessGrantsEnabled: false,
  frontchannelLogout: false,
  attributes: {
    'pkce.code.challenge.method': 'S256',
    'post.logout.redirect.uris': `${address}/auth/v1/method/oidc/${provider}/post-logout`,
    ...attributes,
  },
  protocolMappers: [groupsMapper(), rolesMapper],
  ...more,
})

const keyOf = (algorithm: string, providerId: string, config: Readonly<Record<string, string>>) => ({
  name: algorithm,
  providerId,
  config: Object.fromEntries(Object.entries({ ...config, priority: '100' }).map(([name, value]) => [name, [value]])),
})
/**
 * A key for each algorithm, because Keycloak would create it on demand, and the service reads keys at most once a
 * minute.
 */
export const everyKey = [
  ...'RS256 RS384 RS512 PS256 PS384 PS512'
    .split(' ')
    .map((algorithm) => keyOf(algorithm, 'rsa-generated', { algorithm })),
  ...['P-256', 'P-384', 'P-521'].map((curve) => keyOf(curve, 'ecdsa-generated', { ecdsaEllipticCurveKey: curve })),
  keyOf('EdDSA', 'eddsa-generated', { eddsaEllipticCurveKey: 'Ed25519' }),
  ...'HS256 HS384 HS512'.split(' ').map((algorithm) => keyOf(algorithm, 'hmac-generated', { algorithm })),
]

/** Mapper of the email into the ID token without `email_verified`. */
export const addressMapper: Mapper = {
  name: 'address alone',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-usermodel-attribute-mapper',
  config: { 'user.attribute': 'email', 'claim.name': 'email', 'jsonType.label': 'String', 'id.token.claim': 'true' },
}

export const person = (username: string, more: Tree = {}): Tree => ({
  username,
  enabled: true,
  email: `${username}@example.com`,
  emailVerified: true,
  firstName: username[0]!.toUpperCase() + username.slice(1),
  lastName: 'Example',
  credentials: [{ type: 'password', value: PASSWORD, temporary: false }],
  ...more,
})

/** Starts Keycloak on loopback with its first realm only. */
export const realKeycloak = async (t: Scope) => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-real-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [port, management] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  await serve(t, {
    command: 'sh',
    args: [
      join(found('keycloak').path, 'bin/kc.sh'),
      'start',
      '--optimized',
      '--http-enabled=true',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      `--http-management-port=${management}`,
      `--hostname=${url}`,
      '--cache=local',
    ],
    env: {
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      // Its own folder is in the cache, which others may use.
      JAVA_OPTS_APPEND: `-Dcom.arjuna.ats.arjuna.objectstore.objectStoreDir=${folder} -XX:TieredStopAtLevel=1`,
    },
    log: join(folder, 'keycloak.log'),
    answers: async () => (await fetch(`http://127.0.0.1:${management}/health/ready`)).ok,
  })

  let token = ''
  const signedIn = async () => {
    const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN })
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: 'POST', body: form })
    token = ((await answer.json()) as { access_token: string }).access_token
  }
  /** Sends an admin request that must succeed. */
  const admin = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const answer = await fetch(`${url}/admin/realms${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  await signedIn()
  // The default lifetime of an admin token is one minute.
  await admin('PUT', '/master', { accessTokenLifespan: 3600 })
  await signedIn()

  return {
    url,
    admin,
    /** Creates a realm that allows HTTP on loopback; returns its issuer. */
    realm: async (name: string, more: Tree): Promise<string> => {
      await admin('POST', '', { realm: name, enabled: true, sslRequired: 'none', ...more })
      return `${url}/realms/${name}`
    },
  }
}
export type Keycloak = Awaited<ReturnType<typeof realKeycloak>>
