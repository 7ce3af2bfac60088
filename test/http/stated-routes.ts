import { RIGHTS, type Right } from '../../src/access/rights.ts'
import { rowsOf, section } from './contract.ts'

/** Places in which a route requires its right, by the beginning of their text in api.md §3.7. */
const PLACES = {
  '–': 'public',
  'every valid token': 'unguarded',
  'any:': 'list',
  any: 'any',
  path: 'path',
  'every namespace in the body': 'body',
  'query `namespace`': 'query',
  header: 'header',
  '`namespaceKey` of the query': 'asked',
  '`namespaceKey` of the body': 'made',
  '`*`: any record': 'record',
  'as GET /auth/v1/tokens/{id}': 'record',
  '`*`': 'deployment',
} as const

/** Place of a route; `default`: a path without a namespace. */
type Place = (typeof PLACES)[keyof typeof PLACES] | 'default'
export type StatedRoute = {
  readonly verb: string
  readonly path: string
  readonly right: string
  readonly place: Place
}

const placeOf = (text: string): Place => {
  const found = Object.entries(PLACES).find(([beginning]) => text.startsWith(beginning))
  if (!found) throw new Error(`api.md §3.7 has the place "${text}", which no test knows`)
  return found[1]
}

const N = '/api/v1/namespaces/{namespaceKey}'

/** Every route of the contract with its right and its place (api.md §3.7). */
export const statedRoutes: readonly StatedRoute[] = rowsOf(section('3.7')).flatMap(
  ([right = '', place = '', routes = '']) =>
    [...routes.matchAll(/`([A-Z]+) ([^`]+)`/g)].flatMap(([, verb = '', path = '']): StatedRoute[] => {
      const stated = { verb, right, path: path.replace(/^(?:N|\[N\])(?=\/|$)/, N), place: placeOf(place) }
      return path.startsWith('[N]')
        ? [stated, { ...stated, path: path.replace('[N]', '/api/v1'), place: 'default' }]
        : [stated]
    }),
)

/** True for a route that works without a credential in every configuration (api.md §3.2). */
export const isOpen = ({ right, verb, path }: StatedRoute): boolean =>
  right === 'public' || `${verb} ${path}` === 'GET /auth/v1/self/session'

/** Paths that need a credential in every configuration (api.md §3.2). */
export const alwaysGuarded: ReadonlySet<string> = new Set(
  rowsOf(section('3.2'))
    .filter(([, required, open]) => required === 'needed' && open === 'needed')
    .flatMap(([routes = '']) => [...routes.matchAll(/`([^`]+)`/g)].map(([, path]) => path!)),
)

/** Rights of the roles (api.md §3.6). A role may contain another, written as "viewer's". */
export const statedRoles: Readonly<Record<string, readonly Right[]>> = rowsOf(section('3.6')).reduce<
  Record<string, readonly Right[]>
>((roles, [cell = '', rights = '']) => {
  const [, name] = /^`(\w+)`$/.exec(cell) ?? []
  if (name === undefined) return roles
  const parts = rights.split(', ').flatMap((part) => roles[part.replace(/'s$/, '')] ?? (part as Right))
  return { ...roles, [name]: rights.startsWith('every right') ? RIGHTS : parts }
}, {})
