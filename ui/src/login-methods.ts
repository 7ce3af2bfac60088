import type { Shown } from '../../src/contract/answer.ts'
import type { Method } from '../../src/contract/identifiers.ts'
import type { Methods } from '../../src/contract/login/login.ts'
import type { Authentication } from '../../src/contract/token.ts'
import { metadataOf } from './metadata.ts'

export type { Method }
export type TokenRecord = Pick<Authentication, 'id' | 'method' | 'metadata'>
/** Entry of the service's list of methods. */
type Listed = Shown<typeof Methods>['methods'][number]
/** Login provider as the service lists it. */
export type ListedProvider = { readonly key: string; readonly name: string | undefined; readonly authorizeUrl: string }

type LoginMethod = {
  /** Name on the wire, or the form of list entries and records if deployments choose the name. */
  readonly wire:
    | string
    | { readonly lists: (entry: Listed) => boolean; readonly issued: (record: TokenRecord) => boolean }
  /** Whether its tokens are from the login of a person. */
  readonly isLogin: boolean
  /** Whether its tokens are sessions. */
  readonly isSession: boolean
  /** Returns the provider, which is part of the holder. Undefined: the method has one provider or none. */
  readonly providerOf: ((record: TokenRecord) => string | undefined) | undefined
  readonly nameOf: (record: TokenRecord) => string | undefined
  readonly subjectOf: (record: TokenRecord) => string | undefined
  /** Returns the providers of a list entry, in the order of the sign-in page. */
  readonly providersIn: (entry: Listed) => readonly ListedProvider[]
}

type Paths = { readonly authorize_url: string; readonly name?: string }
type OidcMetadata = { readonly providers: Readonly<Record<string, Paths>>; readonly order?: readonly string[] }

const capitalized = (key: string): string => key.slice(0, 1).toLocaleUpperCase('en') + key.slice(1)

const personName = (record: TokenRecord) =>
  metadataOf(record, 'name') ?? metadataOf(record, 'email') ?? metadataOf(record, 'preferred_username')
const subject = (record: TokenRecord) => metadataOf(record, 'sub')
const tokenName = (record: TokenRecord) => metadataOf(record, 'token.name')

const accountName = (record: TokenRecord) => metadataOf(record, 'serviceaccount.name')
/** Service account of an exchange, `<namespace>/<name>`. */
const account = (record: TokenRecord) => [metadataOf(record, 'namespace'), accountName(record)].join('/')

const none = () => []

/** Every login method, in the order of the sign-in page and the list of sessions. */
export const loginMethods: Readonly<Record<Method, LoginMethod>> = {
  token: {
    wire: 'METHOD_TOKEN',
    isLogin: false,
    isSession: false,
    providerOf: undefined,
    nameOf: tokenName,
    subjectOf: tokenName,
    providersIn: none,
  },
  oidc: {
    wire: 'METHOD_OIDC',
    isLogin: true,
    isSession: true,
    providerOf: (record) => metadataOf(record, 'oidc.provider'),
    nameOf: personName,
    subjectOf: subject,
    providersIn: ({ metadata }) => {
      const { providers = {}, order = Object.keys(providers) } = (metadata ?? {}) as Partial<OidcMetadata>
      return order.flatMap((key) => {
        const paths = providers[key]
        return paths ? [{ key, name: paths.name ?? capitalized(key), authorizeUrl: paths.authorize_url }] : []
      })
    },
  },
  codehost: {
    wire: {
      lists: ({ metadata }) => metadata !== undefined && 'authorize_url' in metadata,
      // A record of which the personal data is erased has no metadata of the code host.
      issued: (record) => accountName(record) === undefined,
    },
    isLogin: true,
    isSession: true,
    providerOf: undefined,
    nameOf: personName,
    subjectOf: subject,
    providersIn: ({ metadata }) => {
      const { authorize_url, name } = metadata as Paths
      return [{ key: '', name, authorizeUrl: authorize_url }]
    },
  },
  orchestrator: {
    wire: {
      lists: ({ metadata }) => metadata === undefined,
      issued: (record) => accountName(record) !== undefined,
    },
    isLogin: false,
    isSession: true,
    providerOf: undefined,
    nameOf: account,
    subjectOf: account,
    providersIn: none,
  },
}

const methods = Object.keys(loginMethods) as readonly Method[]
const named = new Map(methods.map((method) => [loginMethods[method].wire, method]))

const found = (name: string, fits: (wire: Exclude<LoginMethod['wire'], string>) => boolean): Method | undefined =>
  named.get(name) ??
  methods.find((method) => {
    const { wire } = loginMethods[method]
    return typeof wire !== 'string' && fits(wire)
  })

/** Returns the login method of a list entry; undefined if this UI does not know it. */
export const methodListed = (entry: Listed): Method | undefined => found(entry.method, ({ lists }) => lists(entry))

/**
 * Returns the login method of a record's token. Every name without a fixed method is that of the code host or the
 * orchestrator.
 */
export const methodOf = (record: TokenRecord): Method => found(record.method, ({ issued }) => issued(record))!
