import { version } from '../../base/version.ts'
import { catalog, streams } from '../catalog.ts'
import type { Shapes } from '../define.ts'
import { metaSchema } from '../meta.ts'
import { eventSchemas, plainSchema } from './json-schema.ts'

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
