import { type Shape, type Shapes, wireNames } from '../define.ts'
import { exampleOf, type SchemaNode } from './example.ts'

/** Formats of texts by unit. */
const FORMATS: Readonly<Record<string, string>> = {
  UUID: 'uuid',
  'RFC 3339 UTC with milliseconds': 'date-time',
}

const mapped = (nodes: Readonly<Record<string, SchemaNode>>): Readonly<Record<string, object>> =>
  Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, plainSchema(node)]))

/** A schema with standard keywords. Unit and class of personal data become `x-unit` and `x-personal`. */
export const plainSchema = ({ unit, personal, change, ...node }: SchemaNode): object => ({
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
  Object.entries(shapes).flatMap(([type, newest]) => {
    const all: EventSchema[] = []
    for (let shape: Shape | undefined = newest; shape; shape = shape.from) {
      const node: SchemaNode = shape.schema
      const { version } = shape
      for (const wire of wireNames(type, shape)) {
        const about = { description: node.description ?? '', schema: plainSchema(node), example: exampleOf(node) }
        all.push({ wire, type: wire.replace(/\.v\d+$/, ''), version, ...about })
      }
    }
    return all
  })
