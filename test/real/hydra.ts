import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Scope } from '../auth/stand-ins/listen.ts'
import { freePort } from '../free-port.ts'
import { found, missing } from './programs.ts'
import { serve } from './servers.ts'

/** Reason to skip tests of Hydra; false if it is available. */
export const skip = missing('hydra')

type Tree = Readonly<Record<string, unknown>>
/**
 * Answers of the login and consent pages, which Hydra does not have; `no`: they refuse with this error code and
 * description.
 */
export type Said = {
  readonly subject?: string
  readonly session?: Tree
  readonly scopes?: readonly string[]
  readonly remember?: boolean
  readonly no?: Tree
}
/** Cookies of one browser at Hydra. */
export type Jar = Map<string, string>

/** Starts Hydra on loopback; the test answers for the login and consent pages. `path` is the path of its issuer. */
export const realHydra = async (t: Scope, path: '' | '/' = '') => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-real-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [port, management] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const issuer = `${url}${path}`
  const adminUrl = `http://127.0.0.1:${management}`
  await serve(t, {
    command: found('hydra').path,
    args: ['serve', 'all', '--dev'],
    env: {
      DSN: 'memory',
      SECRETS_SYSTEM: 'canary-system-secret-of-hydra',
      SERVE_PUBLIC_HOST: '127.0.0.1',
      SERVE_PUBLIC_PORT: String(port),
      SERVE_ADMIN_HOST: '127.0.0.1',
      SERVE_ADMIN_PORT: String(management),
      URLS_SELF_ISSUER: issuer,
      // Requires PKCE.
      OAUTH2_PKCE_ENFORCED: 'true',
      // Not served: the test reads the challenge from the address.
      URLS_LOGIN: `${url}/the-page-of-the-login`,
      URLS_CONSENT: `${url}/the-page-of-the-consent`,
      SQA_OPT_OUT: 'true',
    },
    log: join(folder, 'hydra.log'),
    // It creates its keys on the first request for them.
    answers: async () =>
      (await fetch(`${adminUrl}/health/ready`)).ok && (await fetch(`${url}/.well-known/openid-configuration`)).ok,
  })

  /** Sends an admin request that must succeed. */
  const admin = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(`${adminUrl}/admin${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  /** Opens an address with the cookies of a browser; returns the redirect. */
  const follow = async (address: string | URL, jar: Jar): Promise<URL> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(address, { redirect: 'manual', headers: { cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/max-age=0(;|$)/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${String(address)} answered ${answer.status}: ${await answer.text()}`)
    return new URL(location, address)
  }
  /** Answers for the login or consent page. */
  const decided = async (kind: 'login' | 'consent', address: URL, { no, ...yes }: Tree, jar: Jar): Promise<URL> => {
    const challenge = address.searchParams.get(`${kind}_challenge`)!
    const path = `/oauth2/auth/requests/${kind}/${no ? 'reject' : 'accept'}?${kind}_challenge=${challenge}`
    const { redirect_to: next } = await admin<{ readonly redirect_to: string }>('PUT', path, no ?? yes)
    return follow(next, jar)
  }

  return {
    url,
    issuer,
    adminUrl,
    admin,
    /** Runs a shell line with the command `hydra`. */
    shell: async (line: string): Promise<string> => {
      const script = `hydra() { "$HYDRA" "$@"; }\n${line}`
      const env = { ...process.env, HYDRA: found('hydra').path }
      return (await promisify(execFile)('sh', ['-euc', script], { env })).stdout
    },
    /** Login request of an address of the login page. */
    asked: (address: URL) =>
      admin<{ readonly skip: boolean; readonly subject: string }>(
        'GET',
        `/oauth2/auth/requests/login?login_challenge=${address.searchParams.get('login_challenge')}`,
      ),
    follow,
    /** Signs in and consents; returns the query of the callback. */
    signIn: async (address: URL, login: Said, consent: Said = {}, jar: Jar = new Map()): Promise<URLSearchParams> => {
      const { subject = 'ada', remember = false, no } = login
      let at = await follow(address, jar)
      if (at.searchParams.has('login_challenge')) at = await decided('login', at, { subject, remember, no }, jar)
      if (at.searchParams.has('consent_challenge')) {
        const asked = (address.searchParams.get('scope') ?? '').split(' ')
        const { session = {}, scopes = asked, no: refused } = consent
        at = await decided('consent', at, { grant_scope: scopes, session: { id_token: session }, no: refused }, jar)
      }
      return at.searchParams
    },
  }
}
export type Hydra = Awaited<ReturnType<typeof realHydra>>
