import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { csvOf } from '../../src/base/csv.ts'
import type { HistoryEvent } from '../../src/contract/history/events.ts'
import type { Stored } from '../../src/events/log.ts'
import { eventJson } from '../../src/history/event-json.ts'
import { cloudEventOf } from '../../src/history/shown-event.ts'
import { cloudEvent } from '../../src/verifier/export/cloud-events.ts'
import { COLUMNS } from '../../src/verifier/export/csv.ts'
import { fieldsOf, type IndexedEvent } from '../../src/verifier/export/event-fields.ts'
import { eventLine } from '../../src/verifier/export/ndjson.ts'
import { eventLog } from './event-log.ts'

type Vector = Omit<Stored, 'revision' | 'position' | 'data'> & {
  readonly index: number
  readonly revision: number
  readonly data?: string
  /** Long data: beginning, character, its count, and end. */
  readonly dataParts?: readonly [string, string, number, string]
  readonly line?: string
  readonly lineSha256: string
}
type Vectors = {
  readonly events: readonly Vector[]
  readonly csv: { readonly header: string; readonly rows: readonly { readonly index: number; readonly row: string }[] }
  readonly cloudEvents: readonly { readonly index: number; readonly text: string }[]
  readonly moments: {
    readonly times: readonly string[]
    readonly asks: readonly { readonly at: string; readonly lastIndex: number }[]
  }
}
const file = resolve(import.meta.dirname, '../../../test/history/vectors.json')
const { events, csv, cloudEvents, moments } = JSON.parse(readFileSync(file, 'utf8')) as Vectors

const longText = ([begin, character, count, end]: NonNullable<Vector['dataParts']>) =>
  begin + character.repeat(count) + end

/** The event of a vector. */
const eventOf = (vector: Vector): IndexedEvent => {
  const data = vector.data ?? longText(vector.dataParts!)
  const record = { ...vector, data, revision: BigInt(vector.revision), position: BigInt(vector.index + 1) }
  return { index: vector.index, record, fields: fieldsOf(record) }
}

await t.test('the NDJSON export equals the published examples byte for byte', (t) => {
  for (const vector of events) {
    const line = eventLine(eventOf(vector))
    t.equal(line.length, line.indexOf('\n') + 1)
    if (vector.line !== undefined) t.equal(line, `${vector.line}\n`)
    t.equal(createHash('sha256').update(line.slice(0, -1)).digest('hex'), vector.lineSha256, `line ${vector.index}`)
  }
  t.ok(events.length > 10)
  t.end()
})

await t.test('the CSV export equals the published examples byte for byte', (t) => {
  t.equal(csvOf([], COLUMNS), csv.header)
  for (const { index, row } of csv.rows)
    t.equal(csvOf([eventOf(events[index]!)], COLUMNS).slice(csv.header.length), row, `row ${index}`)
  t.end()
})

/** The published JSON Schema of CloudEvents 1.0.2, without descriptions, with the rule for names of extensions. */
const CLOUD_EVENT = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1 },
    source: { type: 'string', format: 'uri-reference', minLength: 1 },
    specversion: { type: 'string', minLength: 1 },
    type: { type: 'string', minLength: 1 },
    datacontenttype: { type: ['string', 'null'], minLength: 1 },
    dataschema: { type: ['string', 'null'], format: 'uri', minLength: 1 },
    subject: { type: ['string', 'null'], minLength: 1 },
    time: { type: ['string', 'null'], format: 'date-time', minLength: 1 },
    data: { type: ['object', 'string', 'number', 'array', 'boolean', 'null'] },
    data_base64: { type: ['string', 'null'], contentEncoding: 'base64' },
  },
  required: ['id', 'source', 'specversion', 'type'],
  propertyNames: { pattern: '^[a-z0-9]{1,20}$' },
  additionalProperties: { type: ['string', 'boolean', 'integer'] },
}

await t.test('the CloudEvents of the published examples are equal byte for byte, and valid', (t) => {
  for (const { index, text } of cloudEvents) t.equal(cloudEvent(eventOf(events[index]!), '0a1b2c3d'), text)
  const ajv = new Ajv({ strict: false })
  ajv.addFormat('uri', /^[a-z]+:\S+$/)
  ajv.addFormat('uri-reference', /^[a-z]+:\S+$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const isValid = ajv.compile(CLOUD_EVENT)
  for (const vector of events) {
    const event = eventOf(vector)
    const text = cloudEvent(event, '0a1b2c3d')
    t.ok(isValid(JSON.parse(text)), `${vector.index}: ${JSON.stringify(isValid.errors)}`)
    const shown = JSON.parse(eventJson(event, 'ci', true)) as HistoryEvent
    t.equal(cloudEventOf(shown, '0a1b2c3d'), text, 'the same made from the event as JSON')
  }
  const [first] = events.map(eventOf)
  const late = { ...first!, record: { ...first!.record, revision: 2_147_483_648n } }
  t.notOk('revision' in (JSON.parse(cloudEvent(late, '0a1b2c3d')) as object), 'no integer attribute beyond 32 bits')
  t.end()
})

await t.test('the JSON form of an event has the stored texts unchanged', (t) => {
  for (const vector of events) {
    const event = eventOf(vector)
    const text = eventJson(event, 'ci', true)
    t.ok(text.endsWith(`,"data":${event.record.data},"meta":${event.record.meta}}`), event.record.type)
    const shown = JSON.parse(text) as { readonly summary: string; readonly actor: { readonly name: string } }
    t.ok(shown.summary.length > 0)
    t.equal(shown.actor.name, 'ci')
  }
  t.end()
})

await t.test('stored texts that are not JSON become JSON strings', (t) => {
  for (const data of ['not JSON', '[1]', '{"a":1', '{\n"a":1}']) {
    const record = { ...eventOf(events[0]!).record, data, meta: 'x' }
    const event = { index: 0, record, fields: fieldsOf(record) }
    const expected = JSON.stringify(data)
    t.ok(eventLine(event).endsWith(`,"data":${expected},"meta":"x"}\n`), data)
    t.equal(eventLine(event).indexOf('\n'), eventLine(event).length - 1)
    t.strictSame((JSON.parse(eventJson(event, undefined, false)) as { readonly data: string }).data, data)
  }
  t.end()
})

await t.test('a time limit of a query includes exactly the events that are not later', async (t) => {
  const { history, append } = eventLog()
  for (const time of moments.times) append({ stream: 'token-a', type: 'TokenRevoked', time, data: '{}', meta: '{}' })
  const head = (await history.head())!
  for (const { at, lastIndex } of moments.asks) {
    const to = new Date(Date.parse(at) + 1).toISOString()
    const indexes: number[] = []
    const asked = { filter: { to }, bounds: {}, descending: false, limit: 100, cursor: undefined }
    await history.page(asked, head, ({ index }) => indexes.push(index) > 0, new AbortController().signal)
    t.equal(indexes.at(-1) ?? -1, lastIndex, at)
  }
})
