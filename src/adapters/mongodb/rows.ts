import { type BulkWriteResult, type Collection, MongoBulkWriteError } from 'mongodb'
import { type Closed, type Row, supersedes } from '../../projections/views.ts'
import { type Calls, isDuplicate, patience, unlessDuplicate } from './calls.ts'

/**
 * Encoding of client-chosen keys of metadata, attributes and attachments, because some have a special meaning. Dots and
 * dollars are paths and operators; the driver treats `_bsontype` and `toBSON` as its own types; some servers reject the
 * empty key. Keys with these characters are percent-encoded, so nothing is lost and any tool can address them.
 */
const special = /[%.$\0]|^_(?=bsontype$)|^t(?=oBSON$)/g
const EMPTY = '%'

const encodeKey = (key: string): string =>
  key === ''
    ? EMPTY
    : key.replace(special, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

const decodeKey = (key: string): string =>
  key === EMPTY
    ? ''
    : key.includes('%')
      ? key.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : key

const mapped = (value: unknown, keyOf: (key: string) => string): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map((item) => mapped(item, keyOf))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [[keyOf(key), mapped(item, keyOf)] as const],
  )
  return Object.fromEntries(entries)
}

/** JSON value as stored in the database: keys with `%`, `.`, `$` or NUL are percent-encoded. */
export const toDocument = (value: object): object => mapped(value, encodeKey) as object

/** Restores the JSON value. */
export const fromDocument = (stored: object): object => mapped(stored, decodeKey) as object

/** A row as stored in the collection of its view. A tombstone has no `doc`. */
export type StoredRow = {
  readonly _id: string
  readonly revision: bigint
  readonly position: bigint
  readonly changes: bigint
  readonly doc?: object
  /** Event that made the document unreadable. A row with this field has no `doc`. */
  readonly unreadable?: object
}

export const rowOf = <D extends object>({ _id, revision, position, changes, doc, unreadable }: StoredRow): Row<D> => ({
  key: _id,
  revision,
  position,
  changes,
  doc: doc && (fromDocument(doc) as D),
  ...(unreadable && { unreadable: fromDocument(unreadable) as Closed<D> }),
})

const storedOf = ({ key, revision, position, changes, doc, unreadable }: Row): StoredRow => ({
  _id: key,
  revision,
  position,
  changes,
  ...(doc && { doc: toDocument(doc) }),
  ...(unreadable && { unreadable: toDocument(unreadable) }),
})

type Rows = Collection<StoredRow>

/**
 * Filter that matches the row with an older revision, or the unreadable row of the same revision if the new row is
 * readable.
 */
const older = ({ _id, revision, unreadable }: StoredRow) =>
  unreadable
    ? { _id, revision: { $lt: revision } }
    : { _id, $or: [{ revision: { $lt: revision } }, { revision, unreadable: { $exists: true } }] }
const contentOf = ({ _id, ...content }: StoredRow): Omit<StoredRow, '_id'> => content

/**
 * Counts and indexes of the operations of a bulk that found duplicates; undefined without duplicates. Some servers stop
 * at the first duplicate and report no counts.
 */
const duplicatesOf = (work: Promise<BulkWriteResult>) =>
  work.then(
    () => undefined,
    (error: unknown) => {
      if (!(isDuplicate(error) && error instanceof MongoBulkWriteError)) throw error
      const { matchedCount, upsertedCount } = error.result
      return { matchedCount, upsertedCount, indexes: [error.writeErrors].flat().map(({ index }) => index) }
    },
  )

/** Latest row of each key. */
const latest = (rows: readonly Row[]): StoredRow[] => {
  const byKey = new Map<string, Row>()
  for (const row of rows) {
    const earlier = byKey.get(row.key)
    if (!earlier || supersedes(row, earlier)) byKey.set(row.key, row)
  }
  return Array.from(byKey.values(), storedOf)
}

const chunks = (rows: readonly StoredRow[], size: number): (readonly StoredRow[])[] =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size))

/** Time in ms that a write of rows may take for each row after the first. */
const ROW_MS = 32
/**
 * Timeout of a write of rows. The writer of the read models counts as stalled after 2.5 s, so a write whose answer is
 * lost is repeated before.
 */
const limitOf = ({ length }: readonly StoredRow[]): number => Math.min(patience.bulk, patience.view + length * ROW_MS)

/** Writes rows in commands of at most `bulk` rows. A row replaces only an older revision of itself. */
export const rowWriter = (calls: Calls, bulk: number) => {
  const replace = (to: Rows, row: StoredRow, upsert: boolean) =>
    calls.call('view', () => unlessDuplicate(to.replaceOne(older(row), contentOf(row), { upsert })))

  const putOne = async (to: Rows, row: StoredRow) => {
    // No row is older than revision 0, so a row of revision 0 replaces only an unreadable row.
    if (row.revision === 0n) {
      const made = await calls.call('view', () => unlessDuplicate(to.insertOne(row)))
      if (made === undefined && !row.unreadable) await replace(to, row, false)
    } else if ((await replace(to, row, true)) === undefined) await replace(to, row, false)
  }

  const replaceMany = (to: Rows, rows: readonly StoredRow[], upsert: boolean) => {
    const operations = rows.map((row) => ({ replaceOne: { filter: older(row), replacement: contentOf(row), upsert } }))
    return calls.call('bulk', () => duplicatesOf(to.bulkWrite(operations, { ordered: false })), limitOf(rows))
  }

  const putMany = async (to: Rows, rows: readonly StoredRow[]) => {
    const refused = await replaceMany(to, rows, true)
    if (!refused) return
    const { matchedCount, upsertedCount } = refused
    const whole = matchedCount + upsertedCount + refused.indexes.length === rows.length
    if (whole)
      await replaceMany(
        to,
        refused.indexes.map((n) => rows[n]!),
        false,
      )
    else for (const row of rows) await putOne(to, row)
  }

  const insert = async (to: Rows, rows: readonly StoredRow[]): Promise<void> => {
    for (const chunk of chunks(rows, bulk)) {
      const inserted = await calls.call(
        'bulk',
        () => unlessDuplicate(to.insertMany([...chunk], { ordered: false })),
        limitOf(chunk),
      )
      if (inserted === undefined) await putMany(to, chunk)
    }
  }

  return {
    put: async (to: Rows, rows: readonly Row[]): Promise<void> => {
      const stored = latest(rows)
      if (stored.length === 1) return putOne(to, stored[0]!)
      await insert(
        to,
        stored.filter(({ revision }) => revision === 0n),
      )
      const later = stored.filter(({ revision }) => revision > 0n)
      for (const chunk of chunks(later, bulk)) await putMany(to, chunk)
    },
  }
}
