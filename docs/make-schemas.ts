import { catalog } from '../src/events/catalog.ts'
import type { Shapes } from '../src/events/define.ts'
import { asyncApi, type EventSchema, eventSchemas } from '../src/events/reference/asyncapi.ts'

const jsonFile = (content: object): string => `${JSON.stringify(content, undefined, 2)}\n`

/** JSON Schema 2020-12 of the data of an event. */
const schemaFile = ({ wire, schema, example }: EventSchema): string =>
  jsonFile({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:rollcall:schema:${wire}`,
    title: wire,
    ...schema,
    examples: [example],
  })

/** Text of docs/asyncapi.json. */
export const asyncApiFile = (): string => jsonFile(asyncApi())

/** Schema files of all events, by path. */
export const schemaFiles: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.values<Shapes>(catalog)
    .flatMap(eventSchemas)
    .map((event) => [`docs/schemas/${event.wire}.json`, () => schemaFile(event)]),
)
