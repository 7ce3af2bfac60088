import { isRight, type Right } from '../../access/rights.ts'
import type { Query } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'

/** Condition under which a route needs a credential (api.md §3.2). */
type CredentialRule =
  /** Always, whatever the configuration; `bearer` does not accept the cookie. */
  | 'always'
  | 'bearer'
  /** Never: a valid credential identifies the caller, an invalid one is only recorded. */
  | 'welcome'
  /** A credential is required if `authentication.required` is set. */
  | 'required'
  /** If `authentication.required` is set and `authentication.exclude` does not list this group. */
  | 'management'
  | 'evaluation'
  | 'ofrep'

/**
 * Namespace of a request: its caller must have the route's right there (api.md §3.6), and a token limited to another
 * namespace is refused (§3.3).
 */
export type RightPlace =
  /** The route is about the whole deployment, so a token limited to a namespace is refused. */
  | 'none'
  /** Each namespace in the answer is checked separately. A token limited to a namespace is refused. */
  | 'some'
  /** No particular namespace: accepts every token. */
  | 'any'
  | 'default'
  /** The namespace in the namespace header. */
  | 'header'
  /** The namespace in the path parameter of this name. */
  | { readonly param: string }
  /** The namespace in the query; accepts tokens limited to it. */
  | { readonly stream: (asked: Query) => string }
  /**
   * Every namespace named in the body, read before its field rules. If the body names no namespace, tokens for one
   * namespace are refused.
   */
  | { readonly body: (body: Raw) => string | readonly string[] }
  /** The namespace of the token requested in the body, `*` for none: refuses tokens limited to another namespace. */
  | { readonly made: (body: Raw) => string }
  /** The namespace named in the query, `*` for none: refuses tokens limited to another namespace. */
  | { readonly query: (asked: Query) => string }
  /** The namespace to which the token in the path is limited. Called only if the caller lacks the right in `*`. */
  | { readonly record: (params: Readonly<Record<string, string>>) => Promise<string | undefined> }

/**
 * Access to a route: `public` ignores credentials; other routes require the right in the namespace. The value `none`
 * accepts every valid credential.
 */
export type Guarded = {
  readonly credential: CredentialRule
  readonly namespace: RightPlace
  readonly right: Right | 'none'
  /** Queries that need a credential, whatever the configuration. */
  readonly alwaysFor?: (asked: Query) => boolean
  /** The query parameter `ticket` is a credential (api.md §10). */
  readonly ticket?: true
  /** The query `at` needs no further right; otherwise it needs `history.read` in the same namespaces. */
  readonly past?: 'free'
  /** Additional right, required if the query names another holder's record. */
  readonly other?: OtherRecord
  /** Additional right, required if a dry run evaluates the entity in its body. */
  readonly evaluates?: Right
  /** Right that is sufficient instead, if the query is about one namespace. */
  readonly inOne?: RightInOne
  /** Namespace that a write changes, if it is not the one in which the right is required. */
  readonly changes?: (params: Readonly<Record<string, string>>, body: Raw) => string
}
/** Right that is sufficient in the namespace that the query is about (undefined: not about exactly one). */
export type RightInOne = { readonly right: Right; readonly namespaceIn: (asked: Query) => string | undefined }
/** Record named in a query (undefined: the caller's own), and the namespace to which its token is bound. */
export type OtherRecord = {
  readonly right: Right
  readonly idIn: (asked: Query) => string | undefined
  readonly boundTo: (id: string) => Promise<string | undefined>
}
export type RouteAccess = { readonly credential: 'public' } | Guarded

/** Facts that every route must state, so that none of them depends on its URL. */
export type Statement = {
  readonly access: RouteAccess
  /** `no-store` forbids caches to store the answer; `unstated` sets no header. */
  readonly cache: 'no-store' | 'unstated'
  /** Maximum body size in bytes, at most that of the configuration. */
  readonly bodyLimit: number | 'configured'
  /**
   * The route appends events, so it accepts an idempotency key. The value `unless-read-only` refuses the request on a
   * read-only instance. Every method except GET requires this field.
   */
  readonly writes?: false | 'always' | 'unless-read-only'
}

/** Throws if a route omits a required statement. */
export const insistOnStatement = ({
  method,
  url,
  ...stated
}: { readonly method: string; readonly url: string } & Partial<Statement>): void => {
  const due = ['access', 'cache', 'bodyLimit', ...(method === 'GET' ? [] : (['writes'] as const))] as const
  const missing: string[] = due.filter((name) => stated[name] === undefined)
  const { access } = stated
  if (access && access.credential !== 'public' && access.right !== 'none' && !isRight(access.right))
    missing.push('right')
  if (missing.length > 0) throw new Error(`route ${method} ${url} does not state its ${missing.join(', ')}`)
}

/** Cache and body statements of an ordinary route. */
export const ordinary = { cache: 'unstated', bodyLimit: 'configured' } as const

/** Statements of the routes under /audit/v1 (api.md §16). */
export const audit = { cache: 'no-store', bodyLimit: 65_536, tag: 'Audit' } as const

/** Statements of the searches under /audit/v1: a search has a body and appends no event. */
export const searching = {
  ...audit,
  writes: false,
  access: { credential: 'required', namespace: 'none', right: 'audit.read' },
} as const

/** Statements of all routes of the authentication API (api.md §1.1, §1.2): no caching, small bodies. */
export const authentication = { tag: 'Authentication', cache: 'no-store', bodyLimit: 65_536 } as const
