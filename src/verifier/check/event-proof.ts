import { hash } from 'node:crypto'
import { fail } from '../../base/failure.ts'
import type { StoredRecord } from '../entry.ts'
import { eventLine, readNdjson } from '../export/ndjson.ts'
import { storedText } from '../export/read-line.ts'
import type { VerifierKey } from '../note/vkey.ts'
import { base64Of } from '../platform.ts'
import { type ProofFault, type VerifiedProof, verifyProof, type Withheld } from '../proof/proof-text.ts'
import { cosignedSizes } from './checkpoints.ts'
import { textOfFile } from './evidence.ts'

const [DATA, META] = [',"data":', ',"meta":']

/** Event in the file next to a proof. A withheld text is undefined. */
type EventFile = {
  readonly index: number
  readonly record: StoredRecord
  readonly data: string | undefined
  readonly meta: string | undefined
}

type Event = { readonly index: number; readonly record: StoredRecord }

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

/** Causes for which a proof is refused, in words that follow its name. */
export const PROOF_REFUSED: Readonly<Record<ProofFault, string>> = {
  'malformed proof': 'is not a proof of an event, or is damaged',
  'malformed checkpoint': 'has a damaged checkpoint',
  'other origin': 'is of another ledger than the verifier key',
  'unknown key': 'has no signature of the verifier key',
  'wrong signature': 'has a checkpoint with a wrong signature',
  'wrong data': 'has data that are not those of the event in the history',
  'wrong meta': 'has metadata that are not those of the event in the history',
  'not in the tree': 'has an event that is not in the tree of its checkpoint',
}

/** Next step if another key of the ledger signed. */
const OTHER_KEYS = 'After a change of the signing key, add each key of the ledger that you trust with a further --vkey.'

/** Event that a proof proves. A text that is not there is withheld. */
export type Proven = {
  readonly index: number
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly time: string
  readonly data?: string
  readonly meta?: string
  readonly withheld: readonly string[]
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly signedBy: readonly string[]
}

/** Members of a proven event as they are shown. */
export const PROVEN_COLUMNS: readonly (readonly [title: string, text: (event: Proven) => string])[] = [
  ['INDEX', ({ index }) => String(index)],
  ['TIME', ({ time }) => time],
  ['TYPE', ({ type }) => type],
  ['STREAM', ({ stream, revision }) => `${stream} ${revision}`],
  ['ID', ({ id }) => id],
  ['DATA', ({ data = '' }) => data],
  ['META', ({ meta = '' }) => meta],
  ['WITHHELD', ({ withheld }) => withheld.join(', ')],
  ['ORIGIN', ({ origin }) => origin],
  ['SIZE', ({ size }) => String(size)],
  ['ROOT', ({ root }) => root],
  ['SIGNED BY', ({ signedBy }) => signedBy.join('\n')],
]

const shown = ({ index, entry, data, meta, checkpoint }: VerifiedProof, keys: readonly VerifierKey[]): Proven => {
  const { id, stream, revision, type, time } = entry
  const { origin, size, root, signatures, text } = checkpoint
  return {
    index,
    id,
    stream,
    revision,
    type,
    time,
    ...(data !== undefined && { data }),
    ...(meta !== undefined && { meta }),
    withheld: [...(data === undefined ? ['data'] : []), ...(meta === undefined ? ['meta'] : [])],
    origin,
    size,
    root: base64Of(root),
    signedBy: [
      ...signatures.filter((one) => one.time === undefined).map(({ key }) => `${key.name} ${key.id}`),
      ...cosignedSizes([{ name: 'proof', text }], keys).map((one) => `${one.name} at ${one.time}`),
    ],
  }
}

/** Adds the texts of the event in a file to a proof without them; fails with exit code 3 unless the event is the proven one. */
const withEvent = async (proof: VerifiedProof, file: string): Promise<VerifiedProof> => {
  const event =
    readEventFile(await textOfFile(file, 'The event')) ?? fail('usage', `${file} is not the line of an event.`)
  const { entry, index } = proof
  const { id, stream, revision, type, time } = event.record
  const there = { index: event.index, id, stream, revision: Number(revision), type, time }
  const proven = { ...entry, index }
  const other = (Object.keys(there) as (keyof typeof there)[]).find((name) => there[name] !== proven[name])
  if (other !== undefined) fail('check', `${file} is another event than the proven one: its ${other} differs.`)
  for (const name of ['data', 'meta'] as const)
    if (event[name] !== undefined && hash('sha256', event[name]) !== entry[name])
      fail('check', `${file} has ${name} that are not those of the event in the history.`)
  return { ...proof, data: proof.data ?? event.data, meta: proof.meta ?? event.meta }
}

/**
 * Returns the event that a proof proves, with the texts of the file `event` that do not fit into it. Fails with exit code
 * 2 for a text that is no proof, and 3 for a wrong one. `name` is the source of the proof.
 */
export const provenEvent = async (
  name: string,
  text: string,
  keys: readonly VerifierKey[],
  event: string | undefined,
): Promise<Proven> => {
  const verified = verifyProof(text, keys)
  if (typeof verified === 'string')
    return fail(
      verified.startsWith('malformed') ? 'usage' : 'check',
      `${name} ${PROOF_REFUSED[verified]}.`,
      verified === 'unknown key' ? OTHER_KEYS : undefined,
    )
  return shown(event === undefined ? verified : await withEvent(verified, event), keys)
}
