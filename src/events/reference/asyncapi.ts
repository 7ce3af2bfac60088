import { version } from '../../base/version.ts'
import { catalog, streams } from '../catalog.ts'
import { namedShapes, type Shapes, typeName } from '../define.ts'
import type { About } from '../fields.ts'
import { metaSchema } from '../meta.ts'

/** A schema of the catalog as data. */
type SchemaNode = Partial<About> & {
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

/** A value with every field of a schema. */
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

/** Formats of texts by unit. */
const FORMATS: Readonly<Record<string, string>> = {
  UUID: 'uuid',
  'RFC 3339 UTC with milliseconds': 'date-time',
}

const mapped = (nodes: Readonly<Record<string, SchemaNode>>): Readonly<Record<string, object>> =>
  Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, plainSchema(node)]))

/** A schema with standard keywords. Unit and class of personal data become `x-unit` and `x-personal`. */
const plainSchema = ({ unit, personal, change, ...node }: SchemaNode): object => ({
  ...node,
  ...(unit !== undefined && FORMATS[unit] !== undefined && { format: FORMATS[unit] }),
  ...(node.properties && { properties: mapped(node.properties) }),
  ...(node.patternProperties && { patternProperties: mapped(node.patternProperties) }),
  ...(node.items && { items: plainSchema(node.items) }),
  ...(node.anyOf && { anyOf: node.anyOf.map(plainSchema) }),
  ...(unit !== undefined && { 'x-unit': unit }),
  ...(personal !== undefined && { 'x-personal': personal }),
  ...(change && { 'x-change': true }),
})

/** An event under one of its wire names: type without version, version, and its data with an example. */
export type EventSchema = {
  readonly wire: string
  readonly type: string
  readonly version: number
  readonly description: string
  readonly schema: object
  readonly example: unknown
}

/** Events of a category under all names under which they were ever written, newest shape first. */
export const eventSchemas = (shapes: Shapes): readonly EventSchema[] =>
  namedShapes(shapes).map(([wire, { version, schema }]) => {
    const node: SchemaNode = schema
    const about = { description: node.description ?? '', schema: plainSchema(node), example: exampleFor('', node) }
    return { wire, type: typeName(wire), version, ...about }
  })

type Category = keyof typeof streams
const categories = Object.entries<Shapes>(catalog) as readonly (readonly [Category, Shapes])[]

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
const ref = (path: string) => ({ $ref: `#/${path}` })

/** Address of the streams of a category: its variable parts are parameters. */
const addressOf = (category: Category) => {
  const names = streams[category].name.split(', ')
  if (names.length > 1)
    return {
      address: `${category}-{name}`,
      parameters: { name: { description: `The streams ${names.join(' and ')}.` } },
    }
  const parameters = [...names[0]!.matchAll(/<([^>]+)>/g)].map(([, name]) => name!)
  return {
    address: names[0]!.replaceAll(/<([^>]+)>/g, (_, name: string) => `{${name.replaceAll(' ', '-')}}`),
    ...(parameters.length > 0 && {
      parameters: Object.fromEntries(
        parameters.map((name) => [
          name.replaceAll(' ', '-'),
          { description: `${capital(name)} in the name of the stream.` },
        ]),
      ),
    }),
  }
}

const channelOf = (category: Category, shapes: Shapes) => ({
  ...addressOf(category),
  title: `Streams ${streams[category].name}`,
  description: streams[category].tells,
  messages: Object.fromEntries(eventSchemas(shapes).map(({ wire }) => [wire, ref(`components/messages/${wire}`)])),
})

const operationOf = (category: Category, shapes: Shapes) => ({
  action: 'send',
  channel: ref(`channels/${category}`),
  summary: `The service records the events of the category ${category}.`,
  messages: eventSchemas(shapes).map(({ wire }) => ref(`channels/${category}/messages/${wire}`)),
})

/** AsyncAPI 3.0 document of all events (api.md §16.14): a channel for each category, a message for each wire name. */
export const asyncApi = (): object => {
  const events = categories.flatMap(([, shapes]) => eventSchemas(shapes))
  return {
    asyncapi: '3.0.0',
    id: 'urn:rollcall:events',
    info: {
      title: 'Rollcall events',
      version,
      description:
        'Events of the history. The payload of a message is the member `data` of an event, its headers are the member `meta`. GET /audit/v1/events lists, exports and streams them.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(categories.map(([category, shapes]) => [category, channelOf(category, shapes)])),
    operations: Object.fromEntries(
      categories.map(([category, shapes]) => [`send${capital(category)}`, operationOf(category, shapes)]),
    ),
    components: {
      messages: Object.fromEntries(
        events.map(({ wire, type, version, description, example }) => [
          wire,
          {
            name: wire,
            title: version === 1 ? type : `${type}, version ${version}`,
            summary: description,
            contentType: 'application/json',
            headers: ref('components/schemas/meta'),
            payload: ref(`components/schemas/${wire}`),
            examples: [{ payload: example }],
          },
        ]),
      ),
      schemas: {
        meta: plainSchema(metaSchema),
        ...Object.fromEntries(events.map(({ wire, schema }) => [wire, schema])),
      },
    },
  }
}
