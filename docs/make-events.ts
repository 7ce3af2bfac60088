import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TSchema } from 'typebox'
import { catalog } from '../src/events/catalog.ts'
import { personalFields, type Shape, wireName } from '../src/events/define.ts'

const INTRODUCTION = `# Events

Made from \`src/events\`; \`npm run docs\` writes it again.

An event is never changed and never removed. On the embedded store they stand in the table \`events\` of \`events.sqlite\` in the data directory, which any
SQLite tool can read while the service runs:

| Column | Meaning |
|---|---|
| \`position\` | place in the whole log, 1, 2, 3 … |
| \`stream\` | category and id of the thing it happened to, such as \`token-<id>\` or \`flag-default+checkout\` |
| \`revision\` | place in its stream, from 0 |
| \`id\` | UUID of the event |
| \`type\` | wire name; a later shape of an event ends in \`.v2\`, \`.v3\` … |
| \`time\` | writer's clock, RFC 3339 UTC with milliseconds |
| \`data\` | JSON: what happened, as listed below |
| \`meta\` | JSON: \`command\`, \`actor\` (kind, id, method), \`requestId\`, \`correlationId\`, \`causationId\`, \`route\`, \`reason\` (header \`Event-Reason\`), \`instance\`, \`schema\`, and \`ip\` and \`userAgent\` of the caller in sealed form |

Fields marked *personal* are sealed with a key of their subject (form \`sealed.1.<subject>.<bytes>\`); when the subject is erased its key is destroyed.
`

const typeOf = (schema: TSchema): string => {
  const {
    type,
    enum: names,
    const: only,
    anyOf,
    items,
    properties,
    patternProperties,
  } = schema as Record<string, unknown>
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(names)) return names.map((name) => JSON.stringify(name)).join(' or ')
  if (Array.isArray(anyOf)) return anyOf.map((each) => typeOf(each as TSchema)).join(' or ')
  if (type === 'array') return `list of ${typeOf(items as TSchema)}`
  if (patternProperties) return 'map'
  if (properties) return `{${Object.keys(properties).join(', ')}}`
  return typeof type === 'string' ? type : 'any'
}

/** The sentences above the events in the source, by event. */
const sentences = (category: string): ReadonlyMap<string, string> => {
  const source = readFileSync(resolve(import.meta.dirname, `../../src/events/${category}.ts`), 'utf8')
  return new Map(
    [...source.matchAll(/\/\*\* ([^*]+) \*\/\n {2}([A-Z]\w+):/g)].map(([, sentence, name]) => [name!, sentence!]),
  )
}

const page = (category: string, shapes: Readonly<Record<string, Shape>>): string => {
  const said = sentences(category)
  return Object.entries(shapes)
    .map(([type, { version, schema }]) => {
      const personal = personalFields(schema)
      const rows = Object.entries(schema.properties).map(([name, field]) => {
        const optional = schema.required?.includes(name) ? '' : ' (optional)'
        return `| \`${name}\`${optional} | ${typeOf(field)}${personal.has(name) ? `, *personal* of \`${personal.get(name)}\`` : ''} |\n`
      })
      return `\n### ${wireName(type, version)}\n\n${said.has(type) ? `${said.get(type)}\n\n` : ''}| Field | Type |\n|---|---|\n${rows.join('')}`
    })
    .join('')
}

/** docs/events.md: every event there is, with its fields. */
export const eventsPage = (): string =>
  INTRODUCTION +
  Object.entries(catalog)
    .map(([category, shapes]) => `\n## Streams \`${category}-…\`\n${page(category, shapes)}`)
    .join('')
