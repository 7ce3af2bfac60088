import type { About } from '../fields.ts'

/** A schema of the catalog as data. */
export type SchemaNode = Partial<About> & {
  readonly type?: string
  readonly change?: true
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly anyOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
}

const [HEX, DIGEST] = ['0123456789abcdef'.repeat(4), 'xxVzneCrnQuNF_JLqYstCkKAyG8HV9HjAj-4IZmZZrs']
const SEALED = 'sealed.1.cGVyc29uLTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

/** Texts by the beginning of their unit. */
const BY_UNIT: readonly (readonly [unit: string, text: string])[] = [
  ['UUID', '5d1c3a70-8f2e-4b6d-9a10-000000000001'],
  ['RFC 3339', '2026-01-02T03:04:05.678Z'],
  ['`<id of the pepper>.2.', `ab12cd34.2.${DIGEST}`],
  ['`<id of the pepper>.', `ab12cd34.${DIGEST}`],
  ['SHA-256', HEX],
  ['8 hexadecimal digits', 'ab12cd34'],
  ['`person-`', 'person-1234567890123456789012'],
  ['`sub-`', 'sub-1234567890123456789012'],
  ['`network-', 'network-2026-01-02'],
  ['`<namespace>/<name>`', 'shop/cart'],
  ['`<organization>/<team>`', 'acme/tools'],
  ['organization', 'acme'],
  ['`token-<id>`', 'token-5d1c3a70-8f2e-4b6d-9a10-000000000001'],
  ['name of a provider', 'acme'],
  ['name of a role', 'editor'],
  ['name of a right', 'flag.read'],
  ['name of a rule', 'developers'],
  ['name of a claim', 'groups'],
  ['value of a claim', 'developers'],
  ['name of a command', 'IssueToken'],
  ['name of a user', 'root'],
  ['name of a host', 'rollcall-0'],
  ['name of an instance', 'rollcall-0-1f2e3d4c'],
  ['`<host>-', 'rollcall-0-1f2e3d4c'],
  ['name of a read model', 'tokens'],
  ['namespace, or', 'shop'],
  ['name, or', 'cart'],
  ['reason of', 'credential_invalid'],
  ['code of OAuth', 'access_denied'],
  ['path with parameters', '/api/v1/namespaces/:namespaceKey/flags/:key'],
  ['text of the caller', '5d1c3a70-8f2e-4b6d-9a10-000000000002'],
  ['`login` of the login', '5d1c3a70-8f2e-4b6d-9a10-000000000002'],
  ['operator, such as', 'eq'],
  ['JSON text', '{"colour":"blue"}'],
  ['value of the query', 'ndjson'],
  ['value of `storage', 'embedded'],
  ['Semantic Versioning', '0.1.0'],
  ['`v` and', 'v24.0.0'],
]

/** Keys by the name of their field. */
const KEYS: Readonly<Record<string, string>> = { namespace: 'default', place: 'default', segment: 'beta' }

const textFor = (name: string, { unit = '', personal }: SchemaNode): string => {
  if (typeof personal === 'object') return SEALED
  if (unit.startsWith('key')) return KEYS[name] ?? 'checkout'
  return BY_UNIT.find(([beginning]) => unit.startsWith(beginning))?.[1] ?? 'text'
}

const exampleFor = (name: string, node: SchemaNode): unknown => {
  if (node.enum) return node.enum[0]
  if (node.anyOf) return exampleFor(name, node.anyOf[0]!)
  if (node.items) return [exampleFor(name, node.items)]
  if (node.properties)
    return Object.fromEntries(Object.entries(node.properties).map(([key, field]) => [key, exampleFor(key, field)]))
  if (node.patternProperties) return { example: exampleFor(name, Object.values(node.patternProperties)[0]!) }
  const scalars: Readonly<Record<string, unknown>> = {
    string: textFor(name, node),
    boolean: true,
    number: 50,
    integer: 1,
  }
  return scalars[node.type ?? 'string'] ?? 'text'
}

/** A value with every field of a schema. */
export const exampleOf = (node: SchemaNode): unknown => exampleFor('', node)
