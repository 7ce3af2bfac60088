import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { catalog } from '../../src/events/catalog.ts'
import { type Shape, type Shapes, wireNames } from '../../src/events/define.ts'
import { asyncApi } from '../../src/events/reference/asyncapi.ts'
import { root } from '../root.ts'

const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

type Ref = { readonly $ref: string }
type Message = {
  readonly name: string
  readonly headers: Ref
  readonly payload: Ref
  readonly examples: readonly { readonly payload: object }[]
}
type Document = {
  readonly channels: Readonly<
    Record<string, { readonly address: string; readonly messages: Readonly<Record<string, Ref>> }>
  >
  readonly operations: Readonly<
    Record<string, { readonly action: string; readonly channel: Ref; readonly messages: readonly Ref[] }>
  >
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>
    readonly schemas: Readonly<Record<string, object>>
  }
}
const document = asyncApi() as Document
const options = {
  strict: false,
  formats: {
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  },
}

/** Value at a reference inside the document. */
const at = ({ $ref }: Ref): unknown =>
  $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], document)

const categories = Object.entries<Shapes>(catalog)
const namesOf = (shapes: Shapes): readonly string[] =>
  Object.entries(shapes).flatMap(([type, newest]) => {
    const names: string[] = []
    for (let shape: Shape | undefined = newest; shape; shape = shape.from) names.push(...wireNames(type, shape))
    return names
  })
const all = categories.flatMap(([, shapes]) => namesOf(shapes))

await t.test('the document is valid AsyncAPI 3.0', async (t) => {
  const published = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json')
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addFormat('uri', true)
  const isValid = ajv.compile(json(published) as object)
  t.ok(isValid(document), JSON.stringify(isValid.errors?.slice(0, 3)))
  t.notOk(isValid({ ...document, channels: { token: { adress: 'token' } } }), 'other documents are not')
})

await t.test('docs/asyncapi.json has a channel for each category and a message for each event name', async (t) => {
  t.strictSame(Object.keys(document.channels), Object.keys(catalog))
  for (const [category, shapes] of categories) {
    const { address, messages } = document.channels[category]!
    t.ok(address.startsWith(`${category}-`), address)
    t.strictSame(Object.keys(messages), namesOf(shapes))
    for (const [wire, one] of Object.entries(messages)) t.match(at(one), { name: wire })
  }
  const operations = Object.values(document.operations)
  t.strictSame(
    operations.map(({ action, channel }) => [action, channel.$ref]),
    Object.keys(catalog).map((category) => ['send', `#/channels/${category}`]),
  )
  t.strictSame(
    operations.flatMap(({ messages }) => messages.map((one) => (at(at(one) as Ref) as Message).name)),
    all,
  )
  t.equal(document.channels['flag']!.address, 'flag-{namespace}+{key}')
})

await t.test('docs/asyncapi.json has an example of each event that conforms to its schema', async (t) => {
  const samples = resolve(root, 'test/events/samples')
  const files = readdirSync(samples)
  let checked = 0
  for (const wire of all) {
    const { headers, payload, examples } = document.components.messages[wire]!
    const inDocument = new Ajv(options).compile(at(payload) as object)
    const file = json(resolve(root, `docs/schemas/${wire}.json`)) as { readonly examples: readonly object[] }
    const ofFile = new Ajv2020(options).compile(file)
    t.equal(headers.$ref, '#/components/schemas/meta')
    t.strictSame(
      examples.map((example) => example.payload),
      file.examples,
    )
    for (const example of file.examples) {
      t.ok(inDocument(example), `${wire}: ${JSON.stringify(inDocument.errors)}`)
      t.ok(ofFile(example), `${wire}: ${JSON.stringify(ofFile.errors)}`)
    }
    t.notOk(ofFile({}), `${wire} has required fields`)
    const stored = new Ajv2020({ ...options, validateFormats: false }).compile({ ...file, $id: `${wire}-stored` })
    for (const name of files.filter((one) => one.replace(/\.json$/, '').split('+', 1)[0] === wire)) {
      checked++
      t.ok(stored(json(resolve(samples, name))), `${name}: ${JSON.stringify(stored.errors)}`)
    }
  }
  t.equal(checked, files.length)
  const schemas = readdirSync(resolve(root, 'docs/schemas')).map((name) => name.replace(/\.json$/, ''))
  t.strictSame(schemas.toSorted(), all.toSorted(), 'no schema is left over')
})
