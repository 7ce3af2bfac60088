import type { DataOf } from '../define.ts'
import type { TokenEvent, tokenEvents } from '../token.ts'
import { counted, plain, quoted, type Summaries } from './sentence.ts'

type Issued = DataOf<TokenEvent, 'TokenIssued'>
type Grants = DataOf<TokenEvent, 'TokenGrantsNarrowed'>['to']['grants']

/** Number of grants that a sentence lists. */
const LISTED = 3

const placeText = (place: string): string => (place === '*' ? 'every namespace' : plain(place))

const grantsText = (grants: Grants): string => {
  const texts = grants.slice(0, LISTED).map(({ place, role, rights = [] }) => {
    const rightsText = role === undefined ? counted(rights.length, 'right') : plain(role)
    return `${rightsText} in ${placeText(place)}`
  })
  const more = grants.length - texts.length
  return `${texts.join(', ') || 'no rights'}${more > 0 ? ` and ${more} more` : ''}`
}

const withGrants = ({ grants }: Issued): string => (grants ? ` with ${grantsText(grants)}` : '')
const forNamespace = ({ namespace }: Issued): string =>
  namespace === undefined ? '' : ` for namespace ${plain(namespace)}`

const serviceAccountName = ({ identity, attributes }: Issued): string => {
  const { 'orchestrator.namespace': namespace = '?', 'orchestrator.serviceaccount.name': name = '?' } = attributes
  return plain(identity ?? `${namespace}/${name}`)
}

/** Method, in the words of a login: `login through acme`. */
export const loginText = (method: Issued['method'], provider = 'OpenID Connect'): string =>
  `login through ${method === 'codehost' ? 'the code host' : plain(provider)}`

const beginning = (data: Issued): string => {
  const { method, bootstrap, attributes, grants, namespace, provider } = data
  if (bootstrap) return `bootstrap token issued${forNamespace(data)}${withGrants(data)}`
  switch (method) {
    case 'token': {
      const name = attributes['token.name']
      const all = grants === undefined && namespace === undefined ? ' for every namespace' : forNamespace(data)
      return `static token${name === undefined ? '' : ` ${quoted(name)}`} issued${all}${withGrants(data)}`
    }
    case 'orchestrator':
      return `service account ${serviceAccountName(data)} exchanged: token issued${withGrants(data)}`
    default:
      return `${loginText(method, provider)}: session issued${withGrants(data)}`
  }
}

const EXPIRY = ', (expires <time>|never expires)'
const ISSUED = [
  'static token[ "<name>"] issued for every namespace',
  'static token[ "<name>"] issued for namespace <namespace>[ with <grants>]',
  'static token[ "<name>"] issued with <grants>',
  'bootstrap token issued[ for namespace <namespace>][ with <grants>]',
  'login through (<provider>|the code host): session issued[ with <grants>]',
  'service account <account> exchanged: token issued[ with <grants>]',
]

/** Summaries of the events of a token. */
export const tokenSummaries: Summaries<typeof tokenEvents> = {
  TokenIssued: {
    patterns: ISSUED.map((form) => `${form}${EXPIRY}`),
    of: (data) =>
      `${beginning(data)}, ${data.expiresAt === undefined ? 'never expires' : `expires ${plain(data.expiresAt)}`}`,
  },
  TokenGrantsNarrowed: {
    patterns: ['token <id>: grants narrowed to <grants>'],
    of: ({ id, to }) => `token ${plain(id)}: grants narrowed to ${grantsText(to.grants)}`,
  },
  TokenExpiryChanged: {
    patterns: ['token <id>: expiry changed from (<time>|never) to <time>'],
    of: ({ id, from = 'never', to }) => `token ${plain(id)}: expiry changed from ${plain(from)} to ${plain(to)}`,
  },
  TokenRevoked: {
    patterns: ['token <id> deleted[ because <provider> signed the person out]'],
    of: ({ id, provider }) =>
      `token ${plain(id)} deleted${provider === undefined ? '' : ` because ${plain(provider)} signed the person out`}`,
  },
  TokenExpired: {
    patterns: ['token <id> cleaned up after its expiry at <time>'],
    of: ({ id, expiresAt }) => `token ${plain(id)} cleaned up after its expiry at ${plain(expiresAt)}`,
  },
}
