import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, bodyOf, json, listen, type Scope, type Tls } from './listen.ts'

type Team = { readonly slug: string; readonly organization: { readonly login: string } }

export const codehostClient = { clientId: 'rollcall', clientSecret: 'canary-codehost-secret' }

/**
 * Differences between hosts, according to their sources and documentation: Gitea's `routers/api/v1` (pages by `limit`;
 * lists of teams have no link to the next page; links contain the configured address), GitLab's `doc/api/groups.md` and
 * `doc/api/rest` (pages by `per_page`, `Link`).
 */
const shapes = {
  github: {
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    api: '/api',
    accept: 'application/vnd.github+json',
    organizations: '/user/orgs',
    query: 'per_page=100',
  },
  gitea: {
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    api: '/api/v1',
    accept: 'application/json',
    organizations: '/user/orgs',
    query: 'limit=50',
  },
  gitlab: {
    authorize: '/oauth/authorize',
    token: '/oauth/token',
    api: '/api/v4',
    accept: 'application/json',
    organizations: '/groups',
    query: 'min_access_level=10&per_page=100',
  },
} as const

/**
 * A code host that behaves like GitHub (errors with status 200, lists in pages), or like another kind. `lies` are
 * answers by path. Closes itself.
 */
export const codehostStandIn = async (t: Scope, kind: keyof typeof shapes = 'github', tls?: Tls) => {
  const shape = shapes[kind]
  const state = {
    user: {
      id: 7,
      login: 'alice',
      name: 'Alice',
      email: 'alice@example.com',
      avatar_url: 'https://example.com/a.png',
    } as Record<string, unknown>,
    organizations: [] as unknown[],
    teams: [] as (Team | object)[],
    emails: [] as unknown,
    pageSize: 2,
    lies: {} as Record<string, Answer>,
    asked: [] as string[],
    /** Changes the address of the next page. */
    next: (address: string) => address,
  }
  const logins = new Map<string, string>()
  const tokens = new Set<string>()

  /** Query of the callback. */
  const authorized = ({ searchParams }: URL): URL => {
    const code = `canary-code-${randomUUID()}`
    logins.set(code, searchParams.get('code_challenge')!)
    const back = new URL(searchParams.get('redirect_uri')!)
    back.search = new URLSearchParams({ code, state: searchParams.get('state')! }).toString()
    return back
  }

  const answerTo = async (request: IncomingMessage, response: ServerResponse) => {
    const address = new URL(request.url!, url)
    const { pathname, searchParams } = address
    state.asked.push(`${request.method} ${pathname}${address.search}`)
    const lie = state.lies[pathname]
    if (lie) return lie(response)
    if (pathname === shape.authorize) return void response.writeHead(302, { location: authorized(address).href }).end()
    if (pathname === shape.token) {
      const form = new URLSearchParams(await bodyOf(request))
      const challenge = logins.get(form.get('code')!)
      logins.delete(form.get('code')!)
      if (request.headers.accept !== 'application/json') return json(406, {})(response)
      if (form.get('client_secret') !== codehostClient.clientSecret)
        return json(200, { error: 'incorrect_client_credentials' })(response)
      if (challenge !== createHash('sha256').update(form.get('code_verifier')!).digest('base64url'))
        return json(200, { error: 'bad_verification_code', error_description: `no ${form.get('code')}` })(response)
      const token = `canary-access-${randomUUID()}`
      tokens.add(token)
      return json(200, { access_token: token, scope: 'read:org,read:user', token_type: 'bearer' })(response)
    }
    const known = tokens.has(request.headers.authorization?.replace(/^bearer /i, '') ?? '')
    if (!known || request.headers.accept !== shape.accept) return json(401, { message: 'Bad credentials' })(response)
    if (pathname === `${shape.api}/user`) return json(200, state.user)(response)
    if (pathname === `${shape.api}/user/emails` && kind !== 'gitlab') return json(200, state.emails)(response)
    const list = {
      [`${shape.api}${shape.organizations}`]: state.organizations,
      ...(kind !== 'gitlab' && { [`${shape.api}/user/teams`]: state.teams }),
    }[pathname]
    if (!list || !address.search.includes(shape.query)) return json(404, { message: 'Not Found' })(response)
    const page = Number(searchParams.get('page') ?? 1)
    const more = page * state.pageSize < list.length
    const next = state.next(`${url}${pathname}?${shape.query}&page=${page + 1}`)
    const names = kind !== 'gitea' || !pathname.endsWith('/teams')
    const headers = {
      ...(kind === 'gitea' && { 'x-total-count': String(list.length) }),
      ...(names && { link: `<${url}${pathname}?page=1>; rel="first"${more ? `, <${next}>; rel="next"` : ''}` }),
    }
    return json(200, list.slice((page - 1) * state.pageSize, page * state.pageSize), headers)(response)
  }
  const url = await listen(t, answerTo, tls)
  return Object.assign(state, { url, api: `${url}${shape.api}`, authorized })
}
