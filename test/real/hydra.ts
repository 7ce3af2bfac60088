import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Scope } from '../auth/stand-ins/listen.ts'
import { freePort } from '../free-port.ts'
import { found, missing } from './programs.ts'
import { serve } from './servers.ts'

/** Why no Hydra runs here; false where it does. */
export const skip = missing('hydra')

type Tree = Readonly<Record<string, unknown>>
/** What the pages that Hydra has not, of the login and of the consent, say of a person; `no` = they refuse, with the code and words of an error. */
export type Said = {
  readonly subject?: string
  readonly session?: Tree
  readonly scopes?: readonly string[]
  readonly remember?: boolean
  readonly no?: Tree
}
/** The cookies of one browser, at Hydra. */
export type Jar = Map<string, string>

/** Hydra on loopback. It has no page for logins and consents: the test answers in their place. `path` is what its issuer has behind host and port. */
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
      // It refuses whoever sends no proof of the code.
      OAUTH2_PKCE_ENFORCED: 'true',
      // Nobody listens there: the test reads the challenge in the address.
      URLS_LOGIN: `${url}/the-page-of-the-login`,
      URLS_CONSENT: `${url}/the-page-of-the-consent`,
      SQA_OPT_OUT: 'true',
    },
    log: join(folder, 'hydra.log'),
    // It makes its keys when it is first asked for them.
    answers: async () =>
      (await fetch(`${adminUrl}/health/ready`)).ok && (await fetch(`${url}/.well-known/openid-configuration`)).ok,
  })

  /** Asks its administration; it must succeed. */
  const admin = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(`${adminUrl}/admin${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  /** Opens an address as the browser with these cookies; gives where it is sent. */
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
  /** Answers for the page of the login, or of the consent, to which Hydra sent a browser. */
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
    /** A line of the command line of Hydra, as a shell runs it. */
    shell: async (line: string): Promise<string> => {
      const script = `hydra() { "$HYDRA" "$@"; }\n${line}`
      const env = { ...process.env, HYDRA: found('hydra').path }
      return (await promisify(execFile)('sh', ['-euc', script], { env })).stdout
    },
    /** What Hydra knows of a login that it sent a browser to the page for. */
    asked: (address: URL) =>
      admin<{ readonly skip: boolean; readonly subject: string }>(
        'GET',
        `/oauth2/auth/requests/login?login_challenge=${address.searchParams.get('login_challenge')}`,
      ),
    follow,
    /** Somebody signs in and consents; gives the query that the browser comes back with. */
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
