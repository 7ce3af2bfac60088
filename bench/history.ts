import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import type { EventLog, Stored } from '../src/events/log.ts'
import { eventIndex } from '../src/history/event-index/projection.ts'
import { indexView } from '../src/history/event-index/rows.ts'
import { backgroundProjection } from '../src/projections/engine/background-projection.ts'
import { rebuild } from '../src/projections/engine/rebuild.ts'
import { logMarks } from '../src/projections/history/log-marks.ts'
import { entryOf } from '../src/verifier/entry.ts'
import type { EventFilter } from '../src/verifier/export/filter.ts'
import { leafOf } from '../src/verifier/hashes.ts'
import { compactRange } from '../src/verifier/tree.ts'
import { appendHistory, readerOf } from './history-data.ts'
import { writers } from './log-append.ts'
import { newStore } from './log-store.ts'
import { alternate, median, progress, type Row, row, seconds } from './measure.ts'

const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const ROUNDS = 5
const LIMIT = 100

const line = ({ data, meta, position, revision, ...event }: Stored) =>
  `{"position":${position},"revision":${revision},${JSON.stringify(event).slice(1, -1)},"data":${data},"meta":${meta}}`

/** Bytes of the files of a directory whose names begin with a word. */
const bytesOf = async (directory: string, word: string): Promise<number> => {
  let bytes = 0
  for (const name of await readdir(directory, { recursive: true }))
    if (name.split('/').at(-1)!.startsWith(word)) bytes += (await stat(join(directory, name))).size
  return bytes
}

const only = (value: string) => ({ any: [value], none: [] })

/** A rare and a frequent value of each filter, taken from the log. */
const valuesIn = (records: readonly Stored[]): readonly EventFilter[] => {
  const issued = records.find(({ type }) => type === 'TokenIssued')!
  const { subject } = JSON.parse(issued.data) as { readonly subject: string }
  const { actor, requestId } = JSON.parse(issued.meta) as { readonly actor: { id: string }; readonly requestId: string }
  const flag = { flagKey: only('flag-7'), namespaceKey: only('ns-7') }
  return [
    { type: only('FlagDeleted') },
    { type: only('Token*') },
    { category: only('flag') },
    { stream: only(issued.stream) },
    { actor: only(actor.id) },
    { tokenId: only(issued.stream.slice(6)) },
    { subject: only(subject) },
    { namespaceKey: only('ns-8') },
    flag,
    { method: only('oidc') },
    { provider: only('p-3') },
    { outcome: only('denied') },
    { requestId: only(requestId) },
    { correlationId: only('none') },
  ]
}

const WRITERS = 64
const SLICES = { rounds: 5, sliceMs: 3000 }

/** C2: rate of appends with the index behind them / without it, in turns on two stores. */
const commitRate = async (): Promise<Row> => {
  const [bare, indexed] = [await newStore(), await newStore()]
  let [appended, isOn] = [0, false]
  const counted: EventLog['append'] = async (...given) => {
    const done = await indexed.log.append(...given)
    appended++
    return done
  }
  const indexer = backgroundProjection({
    clock: systemClock,
    log: indexed.log,
    views: indexed.views,
    model: eventIndex(new Uint8Array(32)),
    events: () => appended,
    writes: () => isOn,
    onError: (error) => progress(String(error)),
  })
  indexer.start()
  const withIndex = async (until: number) => {
    isOn = true
    const count = await writers({ ...indexed.log, append: counted }, WRITERS)(until)
    isOn = false
    return count
  }
  try {
    const rates = await alternate({ bare: writers(bare.log, WRITERS), indexed: withIndex }, SLICES)
    const { events } = (await indexed.views.checkpoint(indexView)) ?? { events: 0 }
    const note = `${Math.round(rates.indexed)}/s against ${Math.round(rates.bare)}/s; ${events} of ${appended} events in the index`
    return row(
      'C2',
      'appends with the index of events / without it',
      rates.indexed / rates.bare,
      { atLeast: 0.8 },
      '',
      note,
    )
  } finally {
    await indexer.close()
    await bare.done()
    await indexed.done()
  }
}

/** C1: the tree over the log. C2: appends with the index. C6: the index of events built anew, and its size. C7: a page with each filter and each pair of filters. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`C1, C2, C6, C7: a log of ${EVENTS} events`)
  const store = await newStore()
  const key = new Uint8Array(32)
  try {
    await appendHistory(store.log, EVENTS)
    await rebuild({ clock: systemClock, ...store }, [logMarks(key)])
    const before = await bytesOf(store.directory, 'views')
    const build = await seconds(() => rebuild({ clock: systemClock, ...store }, [eventIndex(key)]))
    progress(`built in ${build.toFixed(2)} s`)
    const size = (await bytesOf(store.directory, 'views')) - before
    let [parse, ledger] = [0, 0]
    const tree = compactRange()
    const sample: Stored[] = []
    for await (const page of store.log.readAll(0n)) {
      const lines = page.map(line)
      if (sample.length === 0) sample.push(...page)
      parse += await seconds(() => {
        for (const text of lines) JSON.parse(text)
      })
      ledger += await seconds(() => {
        for (const record of page) tree.append(leafOf(entryOf(record)))
      })
    }
    const { head, reader } = await readerOf(store, key, EVENTS)
    const { signal } = new AbortController()
    const pageOf = async (filter: EventFilter, descending: boolean) => {
      const times: number[] = []
      let found = 0
      for (let n = 0; n < ROUNDS; n++) {
        found = 0
        const asked = { filter, bounds: {}, descending, limit: LIMIT, cursor: undefined }
        times.push(await seconds(() => reader.page(asked, head, () => ++found > 0, signal)))
      }
      return { time: median(times), found }
    }
    const plain = await pageOf({}, false)
    let worst = { ratio: 0, name: '' }
    const singles = valuesIn(sample)
    for (const one of singles)
      for (const other of singles)
        for (const descending of [false, true]) {
          const filter = { ...one, ...other }
          const { time, found } = await pageOf(filter, descending)
          const name = `${JSON.stringify(filter)} ${descending ? 'desc' : 'asc'}: ${found} events in ${(time * 1000).toFixed(1)} ms`
          if (one === other) progress(name)
          if (time / plain.time > worst.ratio) worst = { ratio: time / plain.time, name }
        }
    const log = await bytesOf(store.directory, 'events')
    return [
      row(
        'C1',
        'entry, leaf and tree for an event / JSON.parse of its line',
        ledger / parse,
        { atMost: 1.6 },
        '',
        `${((ledger / EVENTS) * 1e6).toFixed(1)} µs against ${((parse / EVENTS) * 1e6).toFixed(1)} µs, ${tree.size} leaves`,
      ),
      await commitRate(),
      row(
        'C6',
        `index of ${EVENTS} events built anew / JSON.parse of the same`,
        build / parse,
        { atMost: 6 },
        '',
        `${build.toFixed(1)} s against ${parse.toFixed(1)} s`,
      ),
      row(
        'C6',
        'size of the index / that of the log',
        size / log,
        { atMost: 0.5 },
        '',
        `${Math.round(size / EVENTS)} bytes an event`,
      ),
      row(
        'C7',
        'page of 100 with any filter or pair of filters / without a filter, at most',
        worst.ratio,
        { atMost: 25 },
        '',
        `${(plain.time * 1000).toFixed(1)} ms without; ${worst.name}`,
      ),
    ]
  } finally {
    await store.done()
  }
}
