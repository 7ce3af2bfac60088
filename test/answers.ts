import { Compile } from 'typebox/schema'

type Schema = Readonly<Record<string, unknown>>
type Operation = { readonly responses: Readonly<Record<string, { readonly content?: Schema }>> }
/** Parts of an OpenAPI document that are needed to check answers. */
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
type Check = (body: unknown) => string | undefined

/** Resolves the references of a schema and closes it, so that undescribed members are errors. */
const closed = (schema: unknown, named: Document['components']['schemas']): unknown => {
  if (Array.isArray(schema)) return schema.map((item) => closed(item, named))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref, ...members } = schema as Schema
  if (typeof $ref === 'string') return closed(named[$ref.slice('#/components/schemas/'.length)], named)
  const plain = Object.fromEntries(Object.entries(members).map(([key, value]) => [key, closed(value, named)]))
  return 'properties' in plain && !('additionalProperties' in plain) ? { ...plain, additionalProperties: false } : plain
}

const checks = new Map<string, Check>()
/** Compiles each schema once per process, because all services have the same schemas. */
const checkOf = (schema: unknown): Check => {
  const text = JSON.stringify(schema)
  const known = checks.get(text)
  if (known) return known
  const validator = Compile(JSON.parse(text) as object)
  const check: Check = (body) =>
    validator.Check(body) ? undefined : JSON.stringify(validator.Errors(body)[1].slice(0, 3))
  checks.set(text, check)
  return check
}

const pattern = (template: string) => {
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[.+*?^$()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]*')}/?$`)
}

type AnswerCheck = (method: string, path: string, status: number, body: unknown) => string | undefined
/** Checks by document, because nearly all services of a process have the same one. */
const documents = new Map<string, AnswerCheck>()

/**
 * Returns a check of 2xx answers against the document of their service: an unknown route, or a body that does not match
 * its schema.
 */
export const answersBy = (document: string): AnswerCheck => {
  const check = documents.get(document) ?? checkBy(JSON.parse(document) as Document)
  documents.set(document, check)
  return check
}
const checkBy = ({ paths, components }: Document): AnswerCheck => {
  const known = new Map<unknown, Check>()
  const routes = Object.entries(paths)
    .map(([template, operations]) => ({ template, operations, pattern: pattern(template) }))
    .sort((one, other) => one.template.split('{').length - other.template.split('{').length)
  return (method, path, status, body) => {
    const name = path.split('?', 1)[0]!
    const found = routes.find(({ operations, pattern }) => method.toLowerCase() in operations && pattern.test(name))
    const content = found?.operations[method.toLowerCase()]?.responses[status]?.content
    if (!found || !content) return `${method} ${name} answers ${status}, which the document does not describe`
    const { schema } = content['application/json'] as { readonly schema: unknown }
    const check = known.get(schema) ?? checkOf(closed(schema, components.schemas))
    known.set(schema, check)
    const wrong = check(body)
    return wrong && `${method} ${found.template} answers what its schema does not describe: ${wrong}`
  }
}
