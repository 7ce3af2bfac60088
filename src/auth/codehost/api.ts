import { type Configuration, customFetch, fetchProtectedResource } from 'openid-client'
import { isObject, text } from '../identity.ts'
import { tooMuchTold } from '../oidc/callback.ts'
import { jsonOf, type ProviderFetch, type ProviderStep, placeOf, unusable } from '../outgoing/provider-fetch.ts'
import type { CodehostKind } from './kinds.ts'
import type { Memberships } from './membership.ts'

type Fields = Readonly<Record<string, unknown>>
type Page = { readonly content: unknown; readonly headers: Headers }

const PAGES = 20

type Asking = {
  readonly kind: CodehostKind
  readonly api: string
  readonly call: ProviderFetch
  /** Settings of our client, which proves nothing here, because the access token proves the access. */
  readonly configuration: () => Configuration
  readonly accessToken: string
}

/**
 * Client for a code host's API with an access token. Refuses unusable answers with `provider_mismatch` or
 * `provider_unavailable`, and large ones with `identity_too_large`.
 */
export const codehostApi = ({ kind, api, call, configuration, accessToken }: Asking) => {
  const placeAt = (path: string): ProviderStep => placeOf(path.split('?', 1)[0]!, api)

  const ask = (address: URL, place: ProviderStep) => {
    const config = configuration()
    config[customFetch] = async (url, init) => {
      const answer = await call(place.step, url, init, (place) => tooMuchTold('codehost', place))
      // Headers are dropped because the library hides the status of an answer with a `WWW-Authenticate` challenge.
      return answer.ok ? answer : new Response(undefined, { status: answer.status })
    }
    return fetchProtectedResource(config, accessToken, address, 'GET', undefined, new Headers({ accept: kind.accept }))
  }

  const read = async (address: URL, place: ProviderStep): Promise<Page> => {
    try {
      const response = await ask(address, place)
      return { content: await jsonOf(response, place), headers: response.headers }
    } catch (error) {
      return unusable(place, error)
    }
  }

  /** Reads all entries of a list. `more` is true if the host has further entries. */
  const list = async (path: string): Promise<{ readonly items: readonly Fields[]; readonly more: boolean }> => {
    const [items, place]: [Fields[], ProviderStep] = [[], placeAt(path)]
    let address: URL | undefined = new URL(`${api}${path}`)
    for (let page = 1; address && page <= PAGES; page++) {
      const { content, headers } = await read(address, place)
      if (!Array.isArray(content) || !content.every(isObject))
        return unusable(place, 'the code host did not answer with a list of objects')
      items.push(...content)
      const next: URL | undefined =
        kind.pages === 'link' ? linked(headers, address) : counted(headers, address, page, content, items)
      // The access token is not sent to another origin.
      if (next && next.origin !== new URL(api).origin) return { items, more: true }
      address = next
    }
    return { items, more: address !== undefined }
  }

  return {
    user: async (): Promise<Fields> => {
      const place = placeAt('/user')
      const { content } = await read(new URL(`${api}/user`), place)
      return isObject(content) && Number.isSafeInteger(content['id'])
        ? content
        : unusable(place, 'the code host did not answer with a user')
    },

    /** Primary verified e-mail address of the user; undefined if the host does not allow the query. */
    address: async (): Promise<string | undefined> => {
      const place = placeAt('/user/emails')
      let content: unknown
      try {
        const response = await ask(new URL(`${api}/user/emails?per_page=100`), place)
        if (response.status === 403 || response.status === 404) return undefined
        content = await jsonOf(response, place)
      } catch (error) {
        return unusable(place, error)
      }
      if (!Array.isArray(content) || !content.every(isObject))
        return unusable(place, 'the code host did not answer with a list of objects')
      return text(content.find(({ primary, verified }) => primary === true && verified === true)?.['email'])
    },

    memberships: async (): Promise<Memberships & { readonly more: boolean }> => {
      const found = await list(kind.organizations)
      const organizations = found.items.map((one) => word(kind.organizationOf(one), placeAt(kind.organizations)))
      const joined = kind.teams === undefined ? { items: [], more: false } : await list(kind.teams)
      return {
        organizations: [...new Set(organizations)],
        teams: teamsByOrganization(kind, joined.items, placeAt(kind.teams ?? '')),
        more: found.more || joined.more,
      }
    },
  }
}

/** Slugs of teams by the name of their organization. */
const teamsByOrganization = (
  kind: CodehostKind,
  items: readonly Fields[],
  place: ProviderStep,
): Memberships['teams'] => {
  const teams = new Map<string, Set<string>>()
  for (const team of items) {
    const { organization } = team
    const name = word(isObject(organization) ? kind.organizationOf(organization) : undefined, place)
    teams.set(name, (teams.get(name) ?? new Set()).add(word(kind.teamOf(team), place)))
  }
  return Object.fromEntries(Array.from(teams, ([name, slugs]) => [name, [...slugs]]))
}

const word = (value: unknown, place: ProviderStep): string =>
  text(value) || unusable(place, 'the code host sent a membership without a name')

/** URL of the next page from a Link header (RFC 8288). */
const linked = (headers: Headers, from: URL): URL | undefined => {
  for (const [, address = '', parameters = ''] of (headers.get('link') ?? '').matchAll(/<([^<>]*)>([^<]*)/g))
    if (parameters.split(/[;,]/).some((parameter) => /^\s*rel\s*=\s*"?next"?\s*$/i.test(parameter)))
      return URL.canParse(address, from.href) ? new URL(address, from) : undefined
  return undefined
}

/** URL of the next page by number, while the host's total count exceeds the entries read. */
const counted = (
  headers: Headers,
  from: URL,
  page: number,
  content: readonly unknown[],
  items: readonly unknown[],
): URL | undefined => {
  const total = Number(headers.get('x-total-count') ?? 0)
  if (content.length === 0 || !(items.length < total)) return undefined
  const next = new URL(from)
  next.searchParams.set('page', String(page + 1))
  return next
}
