import { readNdjson } from '../../../history/export/ndjson-lines.ts'
import type { IndexedEvent } from '../../../history/facts.ts'
import { eventLine } from '../../../history/forms.ts'
import { storedText } from '../../../history/stored-text.ts'
import type { Withheld } from '../../../ledger/proof/proof-text.ts'

const [DATA, META] = [',"data":', ',"meta":']

/** Event in the file next to a proof. A withheld text is undefined. */
type EventFile = {
  readonly index: number
  readonly record: IndexedEvent['record']
  readonly data: string | undefined
  readonly meta: string | undefined
}

type Event = Pick<IndexedEvent, 'index' | 'record'>

/** Returns the NDJSON line of an event (api.md §16.5) without the members of withheld texts. */
export const eventFileText = ({ index, record }: Event, withheld: readonly Withheld[]): string => {
  const line = eventLine({ index, record })
  const [data, meta] = [`${DATA}${storedText(record.data)}`, `${META}${storedText(record.meta)}`]
  const head = line.slice(0, -`${data}${meta}}\n`.length)
  return `${head}${withheld.includes('data') ? '' : data}${withheld.includes('meta') ? '' : meta}}\n`
}

const readLine = (line: string): Event | undefined => {
  const [read, ...others] = readNdjson(Buffer.from(line)).lines
  return read && others.length === 0 ? { index: read.index, record: read.record() } : undefined
}

/** Returns the event of such a file; undefined if the text is malformed. */
export const readEventFile = (text: string): EventFile | undefined => {
  const line = text.endsWith('\n') ? text : `${text}\n`
  const whole = readLine(line)
  if (whole) return { ...whole, data: whole.record.data, meta: whole.record.meta }
  const withoutMeta = readLine(`${line.slice(0, -2)}${META}{}}\n`)
  if (withoutMeta) return { ...withoutMeta, data: withoutMeta.record.data, meta: undefined }
  // The members before are numbers and texts without the quotes of a member.
  const withoutData = readLine(line.replace(META, `${DATA}{}${META}`))
  return withoutData && { ...withoutData, data: undefined, meta: withoutData.record.meta }
}
