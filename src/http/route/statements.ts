import { isRight, type Right } from '../../access/rights.ts'
import type { Query } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'

/** When a route needs a credential (api.md §3.2). */
export type CredentialRule =
  /** Always, whatever the configuration says; `bearer`: and never from the cookie. */
  | 'always'
  | 'bearer'
  /** Never: a credential that is of use says who asks, any other is taken note of. */
  | 'welcome'
  /** Where `authentication.required` says so. */
  | 'required'
  /** The same, unless `authentication.exclude` names this group. */
  | 'management'
  | 'evaluation'
  | 'ofrep'

/** Which namespace a request is about: there the route's right must be held (api.md §3.6), and a token bound to another is refused (§3.3). */
export type RightPlace =
  /** None but the deployment: out of reach for every namespaced token. */
  | 'none'
  /** Each that is shown, by itself: out of reach for every namespaced token. */
  | 'some'
  /** None in particular: within reach of every token. */
  | 'any'
  | 'default'
  /** The one in the namespace header. */
  | 'header'
  /** The one in the path, by the name of its parameter. */
  | { readonly param: string }
  /** Every one that the body names, seen before its field rules; naming none is out of reach for namespaced tokens. */
  | { readonly body: (body: Raw) => string | readonly string[] }
  /** That of the token which the body asks for, likewise, `*` for none: out of reach for every namespaced token. */
  | { readonly made: (body: Raw) => string }
  /** The one that the query names, `*` for none: out of reach for every namespaced token. */
  | { readonly query: (asked: Query) => string }
  /** That which the token is bound to whose record the path names. It is asked only where the right is not held everywhere. */
  | { readonly record: (params: Readonly<Record<string, string>>) => Promise<string | undefined> }

/** Who may use a route: everybody, whose credentials are not looked at, or those whose credential has the right in the namespace; `none`: every valid one. */
export type Guarded = {
  readonly credential: CredentialRule
  readonly namespace: RightPlace
  readonly right: Right | 'none'
  /** The query `at` wants nothing more; otherwise it wants `history.read` in the same places. */
  readonly past?: 'free'
  /** A right that is wanted besides where the query names another's record. */
  readonly other?: OtherRecord
}
/** Which record a query names, undefined for none but the caller's, and the namespace that its token is bound to. */
export type OtherRecord = {
  readonly right: Right
  readonly idIn: (asked: Query) => string | undefined
  readonly boundTo: (id: string) => Promise<string | undefined>
}
export type RouteAccess = { readonly credential: 'public' } | Guarded

/** What every route must state, so that nothing hangs on its URL. */
export type Statement = {
  readonly access: RouteAccess
  /** Whether caches may keep the answer: `no-store` forbids it, else nothing is said. */
  readonly cache: 'no-store' | 'unstated'
  /** Largest body in bytes, within that of the configuration. */
  readonly bodyLimit: number | 'configured'
  /** Appends events, so it takes an idempotency key; on a read-only instance too, or not there. A route that is no GET states it. */
  readonly writes?: false | 'always' | 'unless-read-only'
}

/** Refuses a route that leaves unsaid what each must state. */
export const insistOnStatement = ({
  method,
  url,
  ...stated
}: { readonly method: string; readonly url: string } & Partial<Statement>): void => {
  const due = ['access', 'cache', 'bodyLimit', ...(method === 'GET' ? [] : (['writes'] as const))] as const
  const unsaid: string[] = due.filter((name) => stated[name] === undefined)
  const { access } = stated
  if (access && access.credential !== 'public' && access.right !== 'none' && !isRight(access.right))
    unsaid.push('right')
  if (unsaid.length > 0) throw new Error(`route ${method} ${url} does not state its ${unsaid.join(', ')}`)
}

/** What a route states of caches and bodies where it needs nothing of its own. */
export const ordinary = { cache: 'unstated', bodyLimit: 'configured' } as const

/** What every route of the authentication API states (api.md §1.1, §1.2): its answers are kept by nobody, and its bodies are small. */
export const authentication = { tag: 'Authentication', cache: 'no-store', bodyLimit: 65_536 } as const
