import type { StoredRecords } from '../../../app/stores/stored-records.ts'
import { timeSlicer } from '../../../base/event-loop.ts'
import { fail } from '../../../base/failure.ts'
import { eventsQuery } from '../../../contract/history/events.ts'
import { summaryOfEvent } from '../../../history/forms.ts'
import { knownNames } from '../../../history/known-names.ts'
import { type LeafList, leafList } from '../../../verifier/check/leaf-list.ts'
import { entryOf } from '../../../verifier/entry.ts'
import { indexedEvent } from '../../../verifier/export/facts.ts'
import { eventFilter, filterIn } from '../../../verifier/export/filter.ts'
import { eventLine } from '../../../verifier/export/ndjson.ts'
import { leafOf } from '../../../verifier/hashes.ts'
import type { ExportedEvent } from './file-encoder.ts'
import type { ExportRange, ExportSelection, ExportSource } from './source.ts'

/** Filter and bounds of a selection, read as the service reads them. */
const readSelection = ({ filter, bounds }: ExportSelection) => {
  const texts = Object.entries({ ...filter, ...bounds })
  const asked = eventsQuery(knownNames).read(texts.map(([name, text]) => ({ name, text, bare: false })))
  return { asked, passes: eventFilter(filterIn(asked), summaryOfEvent) }
}

/** Events of a store, read from its log. The leaves of its records give the hashes of the tree. */
export const storeSource = (store: StoredRecords): ExportSource => {
  let leaves: LeafList | undefined

  const range = async (selection: ExportSelection): Promise<ExportRange> => {
    const { after, before, afterIndex = -1, beforeIndex = Infinity, from, to } = readSelection(selection).asked
    let [index, first, end] = [0, 0, undefined as number | undefined]
    let settled = ''
    for await (const page of store.pages())
      for (const { position, time } of page) {
        // Bounds of time are those of the settled time.
        settled = time > settled ? time : settled
        const isBefore =
          index <= afterIndex || (after !== undefined && position <= after) || (from !== undefined && settled < from)
        const isWithin =
          index < beforeIndex && (before === undefined || position < before) && (to === undefined || settled < to)
        if (isBefore) first = index + 1
        if (!isWithin) end ??= index
        index++
      }
    return { from: Math.min(first, index), to: Math.max(Math.min(first, index), end ?? index) }
  }

  const events: ExportSource['events'] = async function* (selection, { from, to }, stop) {
    const { passes } = readSelection(selection)
    const found = leafList()
    const pause = timeSlicer()
    let index = 0
    for await (const page of store.pages()) {
      if (stop.aborted) return
      const batch: ExportedEvent[] = []
      for (const record of page) {
        found.add(leafOf(entryOf(record)))
        const place = index++
        if (place >= from && place < to && passes(record)) {
          const event = indexedEvent(place, record)
          batch.push({ index: place, line: () => eventLine(event), event: () => event })
        }
        const paused = pause()
        if (paused) await paused
      }
      yield batch
    }
    leaves = found
  }
  return {
    ledger: async () => (await store.ledger()) ?? fail('unavailable', 'The store contains no ledger yet.'),
    range,
    events,
    nodes: async (size) => {
      const read = leaves ?? fail('failed', 'The leaves of the tree were not read from the store.')
      return read.size < size
        ? fail('check', `The store has ${read.size} records, fewer than the ${size} of the checkpoint.`)
        : read.nodes
    },
  }
}
