import type { TObject } from 'typebox'
import { catalog, streams } from '../src/events/catalog.ts'
import { type Shape, type Shapes, wireName } from '../src/events/define.ts'
import type { About } from '../src/events/fields.ts'
import { metaSchema } from '../src/events/meta.ts'

const INTRODUCTION = `# Events

Made from the schemas in \`src/events\`; \`npm run docs\` writes it again.

An event is never changed and never removed: whoever replays them in order has everything that ever happened. On the embedded store they stand in the table
\`events\` of \`events.sqlite\` in the data directory, which any SQLite tool can read while the service runs:

| Column | Meaning |
|---|---|
| \`position\` | place in the whole log, growing; only its order means something |
| \`stream\` | category and id of the thing it happened to, such as \`token-<id>\` or \`flag-default+checkout\` |
| \`revision\` | place in its stream, from 0 |
| \`id\` | UUID of the event |
| \`type\` | wire name; a later shape of an event ends in \`.v2\`, \`.v3\` … |
| \`time\` | when it was written, RFC 3339 UTC with milliseconds, never earlier than the event in front of it |
| \`data\` | JSON: what happened, as listed below by category |
| \`meta\` | JSON: [who wrote it, how and why](#the-envelope-meta) |

## Reading the tables

* A field inside of another is written with a dot, \`variant.key\`; one of each item of a list with brackets, \`moved[].id\`. *Optional*: absent where there is nothing to tell.
* **change**: the field is there only where the value changed, as \`{"from": …, "to": …}\`; \`.*\` in the name of a field inside stands for \`from\` and \`to\`. A side is absent where there is none.
* Shares and percentages are float32 values of 0 to 100: 33.33 is kept as 33.33000183105469, the nearest one.
* **Personal** says what a field can tell of people. *pseudonym*: a keyed name that always stands for the same person or account; *operator's text*: what operators and their programs
  wrote, kept as it is, which may speak of anybody; *sealed*: encrypted with the key of the subject that the named field holds (\`sealed.1.<subject>.<bytes>\`). When a subject is erased its key is
  destroyed, and what was sealed with it can be read by nobody; the events stay.

## Terms

* **incarnation**: one life of a namespace's key, from \`NamespaceCreated\` to \`NamespaceDeleted\`, by a UUID. Deleting a namespace is one event, and its flags and segments have none: what belongs
  to another incarnation than the namespace has now is gone, whatever its own stream says.
* **generation**: the number of that life, 1, 2, 3 …; a flag or segment of an earlier one never takes the place of a later one's.
* **reservation**: what a flag writes on its namespace's stream, and a rule or rollout on a segment's, before it depends on it, so that what is depended on is not deleted meanwhile
  ([decision 3](decisions/0003-reservations.md)). \`FlagRegistered\`, \`FlagUnregistered\`, \`SegmentAttached\`, \`SegmentDetached\` and \`ReservationVoided\` tell of reservations; for the history of what clients see
  they can be left out.

## Which event to count

| Question | Count | Not |
|---|---|---|
| How many requests were refused, and why? | the sums of \`total\` and \`byReason\` of \`RefusalsSummarised\`: each refusal once | \`AuthenticationRefused\` and \`LoginRefused\` beside it: the same refusals told again |
| How many logins were refused, and why? | \`LoginRefused\`: one for each login that came back and gave no token | callbacks that belong to no login (\`state_missing\`, \`state_mismatch\`, \`login_expired\`, \`login_replayed\`): only the sums have them |
| How many logins were there? | \`LoginsBegun.total\` for begun, \`LoginStarted\` for came back, \`LoginCompleted\` for succeeded | |
| Who was refused, from where? | look into \`AuthenticationRefused\`; it is told so many times a minute at most, and \`more\` says how many like it were not | |
`

type Node = Partial<About> & {
  readonly type?: string
  readonly change?: true
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Node[]
  readonly items?: Node
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly patternProperties?: object
}

/** A field as the tables show it; one with `parts` has its units and personal classes in the fields inside. */
export type Field = Partial<About> & {
  readonly path: string
  readonly optional: boolean
  readonly type: string
  readonly parts: boolean
}

const names: Readonly<Record<string, string>> = { string: 'text', object: 'object', array: 'list' }

/** The fields of alternatives: what only some of them have is optional. */
const merged = (alternatives: readonly (readonly Field[])[]): readonly Field[] => {
  const all = alternatives.flat()
  return [...new Set(all.map(({ path }) => path))].map((path) => {
    const same = all.filter((field) => field.path === path)
    return {
      ...same[0]!,
      optional: same.length < alternatives.length,
      type: [...new Set(same.map(({ type }) => type))].join(' or '),
    }
  })
}

const fieldsAt = (path: string, node: Node, optional: boolean): readonly Field[] => {
  const { description, unit, personal } = node
  const about = { ...(description && { description }), ...(unit && { unit }), ...(personal && { personal }) }
  const field = (type: string, parts: boolean): Field => ({ ...about, path, optional, type, parts })
  if (node.change) {
    const [value, ...inside] = fieldsAt(`${path}.*`, node.properties!['to']!, optional)
    return [{ ...value!, path, optional, type: `change of ${value!.type}` }, ...inside]
  }
  if (node.anyOf) return [field('object', true), ...merged(node.anyOf.map((each) => inside(`${path}.`, each)))]
  if (node.items) return [field('list', true), ...inside(`${path}[].`, node.items)]
  if (node.properties) return [field('object', true), ...inside(`${path}.`, node)]
  if (node.patternProperties) return [field('map', false)]
  return [field(node.enum?.map((word) => `"${word}"`).join(' or ') ?? names[node.type!] ?? String(node.type), false)]
}

const inside = (prefix: string, { properties = {}, required = [] }: Node): readonly Field[] =>
  Object.entries(properties).flatMap(([name, node]) => fieldsAt(`${prefix}${name}`, node, !required.includes(name)))

/** Every field of a schema, those inside of others after the one that they are in. */
export const fieldsOf = (schema: TObject): readonly Field[] => inside('', schema)

const personalText = ({ personal, parts }: Field): string => {
  if (parts || personal === undefined) return ''
  return typeof personal === 'string' ? personal : `sealed for \`${personal.sealedFor}\``
}

const table = (schema: TObject): string => {
  const rows = fieldsOf(schema).map((field) => {
    const { path, optional, type, unit, description } = field
    const form = unit === undefined || unit === type ? type : `${type}: ${unit}`
    return `| \`${path}\`${optional ? ' (optional)' : ''} | ${form} | ${personalText(field)} | ${description} |\n`
  })
  return `| Field | Type and unit | Personal | Meaning |\n|---|---|---|---|\n${rows.join('')}`
}

/** The sentence of an event, or of another thing that has fields. */
export const sentenceOf = (schema: TObject): string | undefined => (schema as Node).description

/** What an event is called in its earlier shapes, and which fields these lack. */
const earlier = (type: string, { from, formerly, schema, asBefore }: Shape): string => {
  if (formerly !== undefined) return `Before 0.1.0 it was written as \`${formerly}\`, which is still read.\n\n`
  if (!from) return ''
  const lacking = Object.keys(schema.properties).filter((name) => !(name in from.schema.properties))
  const without = lacking.length > 0 ? ` without ${lacking.map((name) => `\`${name}\``).join(', ')}` : ''
  const still = asBefore ? '; still written where there is nothing of that to tell' : ''
  return `Earlier \`${wireName(type, from.version)}\`${without}${still}.\n\n`
}

const section = (type: string, shape: Shape): string =>
  `\n### ${wireName(type, shape.version)}\n\n${sentenceOf(shape.schema)}\n\n${earlier(type, shape)}${table(shape.schema)}`

const categories = Object.entries<Shapes>(catalog) as [keyof typeof catalog, Shapes][]

/** docs/events.md: every event there is, with its fields. */
export const eventsPage = (): string =>
  [
    INTRODUCTION,
    `\n## The envelope: \`meta\`\n\n${sentenceOf(metaSchema)}\n\n${table(metaSchema)}`,
    ...categories.map(([category, shapes]) => {
      const { name, tells } = streams[category]
      const events = Object.entries(shapes).map(([type, shape]) => section(type, shape))
      return `\n## Streams \`${name}\`\n\n${tells}\n${events.join('')}`
    }),
  ].join('')
