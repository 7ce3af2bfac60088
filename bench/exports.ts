import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { fileFormatOf } from '../src/cli/history/export/file-formats.ts'
import { runExport } from '../src/cli/history/export/run.ts'
import { storeSource } from '../src/cli/history/export/sources.ts'
import { parquetLines } from '../src/cli/history/parquet.ts'
import type { Stored } from '../src/events/log.ts'
import { rebuild } from '../src/projections/engine/rebuild.ts'
import { logMarks } from '../src/projections/history/log-marks.ts'
import { verifyExport } from '../src/verifier/check/export-check.ts'
import { readManifest } from '../src/verifier/check/inputs.ts'
import { entryOf } from '../src/verifier/entry.ts'
import type { ExportFormat } from '../src/verifier/export/manifest.ts'
import { eventLine } from '../src/verifier/export/ndjson.ts'
import { leafOf } from '../src/verifier/hashes.ts'
import { checkpointBody } from '../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../src/verifier/note/signatures.ts'
import { vkeyOf } from '../src/verifier/note/vkey.ts'
import { compactRange } from '../src/verifier/tree.ts'
import { appendHistory, readerOf } from './history-data.ts'
import { newStore } from './log-store.ts'
import { collectGarbage, progress, type Row, row, seconds } from './measure.ts'

const FORMATS: readonly ExportFormat[] = ['ndjson', 'csv', 'cloudevents', 'parquet']
const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const ORIGIN = 'rollcall.example/audit/v1/ledger/0a1b2c3d'
const MIB = 1_048_576

/** Highest memory of this process in MiB while work runs, beyond its beginning. */
const memoryOf = async (work: () => Promise<unknown>): Promise<number> => {
  collectGarbage()
  const used = () => process.memoryUsage().rss / MIB
  const before = used()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, used())), 20)
  await work().finally(() => clearInterval(timer))
  return most - before
}

const signer = signerOf(
  ORIGIN,
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
    format: 'der',
    type: 'pkcs8',
  }),
)

/** C3, C4: forms of an export. C5: verification of an export. C11: memory of an export. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`C3, C4, C5, C11: a log of ${EVENTS} events`)
  const store = await newStore()
  const key = new Uint8Array(32)
  try {
    await appendHistory(store.log, EVENTS)
    await rebuild({ clock: systemClock, ...store }, [logMarks(key)])
    let [parse, index] = [0, -1]
    const tree = compactRange()
    for await (const page of store.log.readAll(0n)) {
      const lines = page.map((record: Stored) => {
        tree.append(leafOf(entryOf(record)))
        index++
        return eventLine({ index, record })
      })
      parse += await seconds(() => {
        for (const text of lines) JSON.parse(text)
      })
    }
    const { head, reader } = await readerOf(store, key, EVENTS)
    /** Makes the bytes of a file format of all events, as the service does. */
    const formed = async (format: ExportFormat) => {
      const fileFormat = await fileFormatOf(format, ORIGIN, 'sealed')
      const encoder = fileFormat.encoder()
      const range = await reader.range({}, {}, head)
      let text = ''
      let bytes = Buffer.byteLength(encoder.head())
      const { signal } = new AbortController()
      for await (const batch of reader.exported({}, range, signal))
        for (const { event } of batch) {
          if (!event) continue
          const exported = { index: event.index, line: () => eventLine(event), event: () => event }
          const encoded = encoder.add(exported, fileFormat.text(exported) ?? '')
          if (typeof encoded === 'string') text += encoded
          else bytes += encoded.length
          if (text.length < 65_536) continue
          bytes += Buffer.from(text).length
          text = ''
        }
      return bytes + Buffer.byteLength(text) + Buffer.byteLength(encoder.end())
    }
    const spent: Partial<Record<ExportFormat, number>> = {}
    const memory: Row[] = []
    for (const format of FORMATS) {
      const added = await memoryOf(async () => {
        spent[format] = await seconds(() => formed(format))
      })
      progress(`${format}: ${spent[format]?.toFixed(2)} s, ${added.toFixed(0)} MiB`)
      const atMost = format === 'parquet' ? 200 : 64
      memory.push(row('C11', `memory that an export as ${format} adds`, added, { atMost }, ' MiB'))
    }
    const { ndjson = 0, csv = 0, cloudevents = 0, parquet = 0 } = spent

    const checkpoint = signNote(checkpointBody({ origin: ORIGIN, size: EVENTS, root: tree.root() }), [signer])
    const ledger = { origin: ORIGIN, vkeys: [vkeyOf(signer.key)], checkpoint }
    const source = storeSource({ pages: () => store.log.readAll(0n), ledger: async () => ledger })
    const out = join(store.directory, 'export.ndjson')
    const request = {
      selection: { filter: {}, bounds: {}, personal: 'sealed' },
      format: 'ndjson',
      gzip: false,
      split: {},
      out,
      stream: undefined,
      manifest: `${out}.manifest.json`,
      proof: `${out}.proof`,
      resume: false,
      checkpoint: undefined,
      against: undefined,
    } as const
    const { signal } = new AbortController()
    let written = 0
    const writing = await memoryOf(async () => {
      written = await seconds(() => runExport(source, request, () => undefined, signal))
    })
    progress(`written in ${written.toFixed(2)} s, ${writing.toFixed(0)} MiB`)
    const given = await readManifest(out, undefined)
    const retained = { keys: [signer.key], checkpoints: [], hashes: undefined }
    let verified = 0
    const reading = await memoryOf(async () => {
      verified = await seconds(async () => {
        const { found } = await verifyExport(given, retained, { parquetLines })
        if (found.count() > 0) throw new Error(JSON.stringify(found.kept))
      })
    })
    const each = (time: number) => `${((time / EVENTS) * 1e6).toFixed(1)} µs`
    return [
      row(
        'C3',
        'NDJSON export / JSON.parse of the same',
        ndjson / parse,
        { atMost: 1.5 },
        '',
        `${each(ndjson)} against ${each(parse)}`,
      ),
      row('C4', 'CSV export / NDJSON export', csv / ndjson, { atMost: 8 }, '', each(csv)),
      row('C4', 'Parquet export / NDJSON export', parquet / ndjson, { atMost: 6 }, '', each(parquet)),
      row('C4', 'CloudEvents export / NDJSON export', cloudevents / ndjson, { atMost: 4 }, '', each(cloudevents)),
      row(
        'C5',
        'events verify of an NDJSON export / JSON.parse of the same',
        verified / parse,
        { atMost: 3 },
        '',
        `${each(verified)}; ${reading.toFixed(0)} MiB of memory, ${writing.toFixed(0)} MiB to write the files`,
      ),
      ...memory,
    ]
  } finally {
    await store.done()
  }
}
