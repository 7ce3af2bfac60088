import type { TSchema } from 'typebox'

type Fits = (value: unknown) => boolean
type Members = Readonly<Record<string, TSchema>>
/** Subset of JSON Schema that event schemas use. */
type Form = {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly required?: readonly string[]
  readonly properties?: Members
  readonly patternProperties?: Members
}

const always: Fits = () => true
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const object = ({ required = [], properties = {}, patternProperties = {} }: Form): Fits => {
  const needed = new Set(required)
  const members = Object.entries(properties).map(([name, schema]) => [name, fitting(schema), needed.has(name)] as const)
  const [every = always] = Object.values(patternProperties).map(fitting)
  return (value) => {
    if (!isObject(value)) return false
    for (const [name, fits, must] of members) if (Object.hasOwn(value, name) ? !fits(value[name]) : must) return false
    if (every !== always) for (const name in value) if (!every(value[name])) return false
    return true
  }
}

/**
 * Returns a test whether a JSON value conforms to an event schema. Fields that the schema does not know are allowed.
 */
export const fitting = (schema: TSchema): Fits => {
  const form = schema as Form
  if (form.anyOf) {
    const alternatives = form.anyOf.map(fitting)
    return (value) => alternatives.some((fits) => fits(value))
  }
  if (form.enum) return (value) => form.enum!.includes(value)
  if (form.const !== undefined) return (value) => value === form.const
  if (form.type === 'object') return object(form)
  if (form.type === 'integer') return Number.isInteger
  if (form.type === 'array') {
    const item = form.items ? fitting(form.items) : always
    return (value) => Array.isArray(value) && value.every(item)
  }
  const { type } = form
  return type === undefined ? always : (value) => typeof value === type
}
