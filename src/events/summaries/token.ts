import type { DataOf } from '../define.ts'
import type { TokenEvent } from '../token.ts'
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
const loginText = (method: Issued['method'], provider = 'OpenID Connect'): string =>
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

const between = ({ from, to }: { readonly from: string; readonly to: string }) =>
  `between ${plain(from)} and ${plain(to)}`

/** Summaries of the events of tokens, logins and refused requests. They omit the id of a login, which is a digest. */
export const tokenSummaries: Summaries<'token' | 'login' | 'refusal'> = {
  token: {
    TokenIssued: (data) =>
      `${beginning(data)}, ${data.expiresAt === undefined ? 'never expires' : `expires ${plain(data.expiresAt)}`}`,
    TokenGrantsNarrowed: ({ id, to }) => `token ${plain(id)}: grants narrowed to ${grantsText(to.grants)}`,
    TokenExpiryChanged: ({ id, from = 'never', to }) =>
      `token ${plain(id)}: expiry changed from ${plain(from)} to ${plain(to)}`,
    TokenRevoked: ({ id, provider }) =>
      `token ${plain(id)} deleted${provider === undefined ? '' : ` because ${plain(provider)} signed the person out`}`,
    TokenExpired: ({ id, expiresAt }) => `token ${plain(id)} cleaned up after its expiry at ${plain(expiresAt)}`,
  },
  login: {
    LoginStarted: ({ method, provider, startedAt }) => `${loginText(method, provider)} started at ${plain(startedAt)}`,
    LoginReturned: ({ returnedAt }) => `login returned from its provider at ${plain(returnedAt)}`,
    LoginCompleted: ({ subject, tokenId }) => `login of ${plain(subject)} completed with token ${plain(tokenId)}`,
    LoginRefused: ({ reason }) => `login refused: ${plain(reason)}`,
    ProviderLogoutReceived: ({ provider, subject, issuedAt }) =>
      `${plain(provider)} signed ${subject === undefined ? 'a session' : plain(subject)} out at ${plain(issuedAt)}`,
    ProviderLogoutCompleted: ({ provider, sessions }) =>
      `sign-out at ${plain(provider)} ended ${counted(sessions, 'session')}`,
  },
  refusal: {
    AuthenticationRefused: ({ reason, route, more }) =>
      `refused: ${plain(reason)} at ${plain(route) || 'an unknown route'}${more > 0 ? `, ${more} more like it` : ''}`,
    RefusalsSummarised: (data) => `${counted(data.total, 'request')} refused ${between(data)}`,
    LoginsBegun: (data) => `${counted(data.total, 'login')} begun ${between(data)}`,
  },
}
