import { type Reason, refusals } from '../../base/errors.ts'
import { ErrorAnswer, Text } from '../../contract/answer.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { Query } from '../../contract/readers/input.ts'
import type { Input } from '../../contract/readers/value.ts'
import type { Spec } from '../route/route.ts'
import type { RouteAccess } from '../route/statements.ts'

/** The part of an OpenAPI 3.1 document that this service uses. */
export type OpenApi = {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object }
}
type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: object
}
/** Input of the document, in addition to the routes. */
export type Documented = {
  readonly version: string
  readonly names: Pick<Names, 'tokenCookie' | 'namespaceHeaderTitle'>
}
export type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

const json = (schema: object) => ({ 'application/json': { schema } })
const ofCredential = ({ credential }: RouteAccess): readonly Reason[] => {
  if (credential === 'public') return []
  if (credential === 'welcome') return ['rate_limited', 'auth_stale']
  return ['credential_missing', 'credential_invalid', 'token_scoped', 'right_missing', 'auth_stale']
}
const common = (spec: Spec): readonly Reason[] => [
  ...(spec.body || spec.query || spec.url.includes(':') ? (['invalid_argument'] as const) : []),
  ...('at' in (spec.query?.schema.properties ?? {})
    ? (['rate_limited', 'history_busy', 'deadline_exceeded'] as const)
    : []),
  ...(spec.body ? (['malformed_body', 'body_too_large', 'unsupported_charset'] as const) : []),
  ...ofCredential(spec.access),
  ...(spec.access.credential === 'public' ? [] : (['busy'] as const)),
  ...(spec.writes
    ? (['write_conflict', 'idempotency_mismatch', 'idempotency_in_progress', 'backend_unavailable'] as const)
    : []),
]

const problem = { content: json(ErrorAnswer) }

const responsesOf = (spec: Spec): Operation['responses'] => {
  const reasons = new Set([...(spec.errors ?? []), ...common(spec)])
  const statuses = new Map<number, Reason[]>()
  for (const reason of reasons)
    statuses.set(refusals[reason].status, [...(statuses.get(refusals[reason].status) ?? []), reason])
  const failed = [...statuses].map(([status, reasons]) => [status, { description: reasons.join(', '), ...problem }])
  const redirected = spec.redirects === undefined ? [] : [[302, { description: spec.redirects }] as const]
  return Object.fromEntries([[200, { description: 'OK', content: json(spec.answer) }], ...redirected, ...failed])
}

const queryParameters = (query: Input<unknown, Query> | undefined): Parameter[] =>
  Object.entries(query?.schema.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: query?.schema.required?.includes(name) ?? false,
    schema,
  }))

const headerParameters = ({ method, writes, access }: Spec, namespaceHeader: string): Parameter[] => {
  const byHeader = access.credential !== 'public' && access.namespace === 'header'
  const names = [
    byHeader && namespaceHeader,
    writes && method === 'POST' && 'Idempotency-Key',
    writes && 'If-Match',
    writes && 'Event-Reason',
    !writes && 'After-Position',
  ]
  return names
    .filter((name) => typeof name === 'string')
    .map((name) => ({ name, in: 'header', required: false, schema: Text }))
}

/**
 * Security requirements: a credential as bearer or cookie, with the route's right. `{}` permits requests without a
 * credential.
 */
const securityOf = (access: RouteAccess): Operation['security'] => {
  if (access.credential === 'public') return []
  const rights = access.right === 'none' ? [] : [access.right]
  return [...(access.credential === 'welcome' ? [{}] : []), { bearer: rights }, { cookie: rights }]
}

/** Path of a route with its parameters in braces. The rest of a path after its last slash is the parameter `path`. */
const pathOf = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}')

const operation = (spec: Spec, namespaceHeader: string): Operation => {
  const { method, url, access, body, form, query, summary, tag } = spec
  const path = [...pathOf(url).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return {
    operationId: `${method.toLowerCase()}${url.replaceAll(/[^A-Za-z0-9]+(.?)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    tags: [tag],
    security: securityOf(access),
    parameters: [
      ...path.map((name): Parameter => ({ name, in: 'path', required: true, schema: Text })),
      ...queryParameters(query),
      ...headerParameters(spec, namespaceHeader),
    ],
    ...(body ? { requestBody: { content: json(body.schema) } } : {}),
    ...(form ? { requestBody: { content: { 'application/x-www-form-urlencoded': { schema: form } } } } : {}),
    responses: responsesOf(spec),
  }
}

type Schemas = Record<string, object>

/** Replaces each named schema by a reference and collects the schemas in `schemas`. */
const referring = (schemas: Schemas) => {
  // Most routes share their parameters and errors, and each is walked once.
  const walked = new Map<object, unknown>()
  const refer = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const made = walked.get(value) ?? walk(value)
    walked.set(value, made)
    return made
  }
  const walk = (value: object): unknown => {
    if (Array.isArray(value)) return value.map(refer)
    const { $id: name, ...members } = value as Readonly<Record<string, unknown>>
    if (typeof name === 'string' && name in schemas) return { $ref: `#/components/schemas/${name}` }
    const schema = Object.fromEntries(Object.entries(members).map(([key, member]) => [key, refer(member)]))
    if (typeof name !== 'string') return schema
    schemas[name] = schema
    return { $ref: `#/components/schemas/${name}` }
  }
  return refer as <T>(value: T) => T
}

/** OpenAPI 3.1 document, generated from the statements of the routes, in mounting order. */
export const openApi = (specs: readonly Spec[], { version, names }: Documented): OpenApi => {
  const schemas: Schemas = {}
  const refer = referring(schemas)
  const shown = specs.filter(({ hidden }) => !hidden)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const spec of shown)
    (paths[pathOf(spec.url)] ??= {})[spec.method.toLowerCase()] = refer(operation(spec, names.namespaceHeaderTitle))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Rollcall',
      version,
      description: 'Client tokens and feature flags with a history that can be proven.',
    },
    tags: [...new Set(shown.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: names.tokenCookie },
      },
    },
  }
}
