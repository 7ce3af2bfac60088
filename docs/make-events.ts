import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TObject } from 'typebox'
import { catalog, streams } from '../src/events/catalog.ts'
import { type Shape, type Shapes, typeName, wireName } from '../src/events/define.ts'
import type { About } from '../src/events/fields.ts'
import { metaSchema } from '../src/events/meta.ts'
import { summaryOf } from '../src/events/summary.ts'

const INTRODUCTION = `# Events

Generated from the schemas in \`src/events\`; \`npm run docs\` writes it again.

Events are never changed or removed: a replay in order gives the complete history. The embedded store has them in the table
\`events\` of \`events.sqlite\` in the data directory. Any SQLite tool can read it while the service runs:

| Column | Meaning |
|---|---|
| \`position\` | place in the whole log, increasing; only the order is significant |
| \`stream\` | category and id of the resource, such as \`token-<id>\` or \`flag-default+checkout\` |
| \`revision\` | place in its stream, from 0 |
| \`id\` | UUID of the event |
| \`type\` | wire name; a later shape of an event ends in \`.v2\`, \`.v3\` … |
| \`time\` | time of writing, RFC 3339 UTC with milliseconds, never earlier than the previous event |
| \`data\` | JSON: the fields of the event, listed below by category |
| \`meta\` | JSON: [actor, request and reason](#the-envelope-meta) |

## Reading the tables

* A nested field is written with a dot, \`variant.key\`; a field of each list item with brackets, \`moved[].id\`. An *optional* field is absent if it has no value.
* **change**: the field is present only if the value changed, as \`{"from": …, "to": …}\`; \`.*\` in the name of a nested field stands for \`from\` and \`to\`. A side without a value is absent.
* Shares and percentages are float32 values of 0 to 100, stored as the shortest decimal that reads back to the same float32: 33.33. Events of early versions have the float32 itself: 33.33000183105469.
* **Summary** is an example of the sentence that describes an event, made from a sample of the event. A text in quotes is JSON and has at most 80 characters before \`…\`, a sentence at most 300. Sealed values and digests are never part of it. An event that the version cannot read has the summary \`event <wire name> that this version cannot read\`.
* **Personal** is the class of personal data in a field. *pseudonym*: a keyed name that always stands for the same person or account. *operator's text*: text of operators and their
  programs, stored unchanged, which may mention people. *sealed*: encrypted with the key of the subject in the named field (\`sealed.1.<subject>.<bytes>\`). Erasing a subject destroys its
  key. The encrypted data of the subject are then unreadable; the events stay.

## Terms

* **incarnation**: one life of a namespace's key, from \`NamespaceCreated\` to \`NamespaceDeleted\`, identified by a UUID. The deletion of a namespace is one event, without events for its flags and segments. Flags and
  segments of another incarnation than the present one are deleted, whatever their own streams contain.
* **generation**: the number of the incarnation, 1, 2, 3 …; a flag or segment of an earlier one never replaces one of a later one.
* **reservation**: an event that a flag writes on the stream of its namespace, and a rule or rollout on the stream of a segment, before it depends on it. A reservation prevents the deletion of the namespace or segment
  ([decision 3](decisions/0003-reservations.md)). \`FlagRegistered\`, \`FlagUnregistered\`, \`SegmentAttached\`, \`SegmentDetached\` and \`ReservationVoided\` are reservation events. A history of the resources
  as clients see them can omit these.

## Which event to count

| Question | Count | Not |
|---|---|---|
| How many requests were refused, and why? | the sums of \`total\` and \`byReason\` of \`RefusalsSummarised\`: each refusal once | \`AuthenticationRefused\` and \`LoginRefused\`: they record the same refusals |
| How many logins were refused, and why? | \`LoginRefused\`: one for each login that returned without a token | callbacks without a login (\`state_missing\`, \`state_mismatch\`, \`login_expired\`, \`login_replayed\`): only the sums include them |
| How many logins were there? | \`LoginsBegun.total\` for begun logins, \`LoginStarted\` for returned ones, \`LoginCompleted\` for successful ones | |
| Who was refused, from where? | \`AuthenticationRefused\`; their number a minute is limited, and \`more\` counts similar refusals without an event | |
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

/** Row of a table. A field with `parts` has its units and personal classes in its nested fields. */
export type Field = Partial<About> & {
  readonly path: string
  readonly optional: boolean
  readonly type: string
  readonly parts: boolean
}

const names: Readonly<Record<string, string>> = { string: 'text', object: 'object', array: 'list' }

/** Fields of alternatives. A field that some alternatives lack is optional. */
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

/** Every field of a schema; nested fields follow their parent. */
export const fieldsOf = (schema: TObject): readonly Field[] => inside('', schema)

const personalText = ({ personal, parts }: Field): string => {
  if (parts || personal === undefined) return ''
  return typeof personal === 'string' ? personal : `encrypted with the key of \`${personal.sealedFor}\``
}

const table = (schema: TObject): string => {
  const rows = fieldsOf(schema).map((field) => {
    const { path, optional, type, unit, description } = field
    const form = unit === undefined || unit === type ? type : `${type}: ${unit}`
    return `| \`${path}\`${optional ? ' (optional)' : ''} | ${form} | ${personalText(field)} | ${description} |\n`
  })
  return `| Field | Type and unit | Personal | Meaning |\n|---|---|---|---|\n${rows.join('')}`
}

/** Description of an event or of another schema. */
export const sentenceOf = (schema: TObject): string | undefined => (schema as Node).description

/** Names of the earlier shapes of an event, and the fields that they lack. */
const earlier = (type: string, { from, formerly, schema, asBefore }: Shape): string => {
  if (formerly !== undefined) return `Before 0.1.0 it was written as \`${formerly}\`, which is still read.\n\n`
  if (!from) return ''
  const lacking = Object.keys(schema.properties).filter((name) => !(name in from.schema.properties))
  const without = lacking.length > 0 ? ` without ${lacking.map((name) => `\`${name}\``).join(', ')}` : ''
  const still = asBefore ? '; still written for events without these fields' : ''
  return `Earlier \`${wireName(type, from.version)}\`${without}${still}.\n\n`
}

const samples = resolve(import.meta.dirname, '../../test/events/samples')

/** The summaries of the samples of an event, each once. */
const summaryText = (category: string, type: string, { formerly = type }: Shape): string => {
  const sentences = readdirSync(samples)
    .sort()
    .flatMap((file) => {
      const wire = file.replace(/(\+\w+)?\.json$/, '')
      const of = () => summaryOf({ category, type: wire, data: JSON.parse(readFileSync(join(samples, file), 'utf8')) })
      return [type, formerly].includes(typeName(wire)) ? [of()] : []
    })
  return [...new Set(sentences)].map((sentence) => `Summary: \`${sentence}\`\n\n`).join('')
}

const section = (category: string, type: string, shape: Shape): string =>
  [
    `\n### ${wireName(type, shape.version)}\n\n${sentenceOf(shape.schema)}\n\n`,
    summaryText(category, type, shape),
    earlier(type, shape),
    table(shape.schema),
  ].join('')

const categories = Object.entries<Shapes>(catalog) as [keyof typeof catalog, Shapes][]

/** Text of docs/events.md: every event with its fields. */
export const eventsPage = (): string =>
  [
    INTRODUCTION,
    `\n## The envelope: \`meta\`\n\n${sentenceOf(metaSchema)}\n\n${table(metaSchema)}`,
    ...categories.map(([category, shapes]) => {
      const { name, tells } = streams[category]
      const events = Object.entries(shapes).map(([type, shape]) => section(category, type, shape))
      return `\n## Streams \`${name}\`\n\n${tells}\n${events.join('')}`
    }),
  ].join('')
