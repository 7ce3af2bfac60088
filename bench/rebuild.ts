import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { memorySnapshot } from '../src/app/stores/memory-snapshot.ts'
import { systemClock } from '../src/base/clock.ts'
import type { Stored } from '../src/events/log.ts'
import { rebuild } from '../src/projections/engine/rebuild.ts'
import { runner } from '../src/projections/engine/runner.ts'
import { anyProjection } from '../src/projections/projection.ts'
import { tokenIndex } from '../src/projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../src/projections/tokens.ts'
import type { Row as ViewRow } from '../src/projections/views.ts'
import { newStore, tokenIssued, tokenRevoked } from './log-store.ts'
import { median, progress, type Row, row, seconds } from './measure.ts'

const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const ROUNDS = 3
const AT_ONCE = 1000
/** Of ten events, eight issue a token and two end one. */
const ENDED = 5

const line = ({ data, meta, position, revision, ...event }: Stored) =>
  `{"position":${position},"revision":${revision},${JSON.stringify(event).slice(1, -1)},"data":${data},"meta":${meta}}`

/** In a process of its own: builds the view of a directory anew, and says how much memory it took at most. */
const child = async (directory: string) => {
  const { openEmbedded } = await import('../src/adapters/embedded/open.ts')
  const store = await openEmbedded(directory, { clock: systemClock, kek: new Uint8Array(32), onError: () => {} })
  let heap = 0
  await rebuild({ clock: systemClock, ...store }, [anyProjection(tokens)], () => {
    heap = Math.max(heap, process.memoryUsage().heapUsed)
  })
  await store.close()
  process.stdout.write(JSON.stringify({ heap, rss: process.resourceUsage().maxRSS * 1024 }))
}

const rebuiltInLittle = async (directory: string, close: () => Promise<void>): Promise<readonly Row[]> => {
  await close()
  const args = ['--max-old-space-size=512', import.meta.filename, directory]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { heap, rss } = JSON.parse(stdout) as { heap: number; rss: number }
  const note = `resident ${Math.round(rss / 1048576)} MiB at most, the mapped file included`
  const name = 'heap in use at most while the token view is built, with --max-old-space-size=512'
  return [row('B9', name, heap / 1048576, { atMost: 512 }, ' MiB', note)]
}

/** B9: building the token view anew from the log, against JSON.parse of the same events as lines in memory. B12: a restart that finds the view built, against building it. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`B9, B12: a log of ${EVENTS} token events`)
  const store = await newStore()
  try {
    for (let n = 0; n < EVENTS; ) {
      const batch: Promise<unknown>[] = []
      for (let k = 0; k < AT_ONCE && n < EVENTS; k++) {
        const id = randomUUID()
        const ends = k % ENDED === 0 && n + 2 <= EVENTS
        batch.push(
          store.log.append(`token-${id}`, ends ? [tokenIssued(id), tokenRevoked(id)] : [tokenIssued(id)], 'none'),
        )
        n += ends ? 2 : 1
      }
      await Promise.all(batch)
    }

    const projection = anyProjection(tokens)
    const [builds, parses, restarts]: [number[], number[], number[]] = [[], [], []]
    const [wholes, snapshots]: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      builds.push(await seconds(() => rebuild({ clock: systemClock, ...store }, [projection])))
      progress(`built in ${builds.at(-1)!.toFixed(2)} s`)

      let parse = 0
      for await (const page of store.log.readAll(0n)) {
        const lines = page.map(line)
        parse += await seconds(() => {
          for (const text of lines) JSON.parse(text)
        })
      }
      parses.push(parse)
      progress(`parsed in ${parse.toFixed(2)} s`)

      const index = tokenIndex(EVENTS)
      const remember = (_: unknown, kept: ViewRow) => index.remember(kept as ViewRow<TokenDoc>)
      const begins = (into: typeof index, restore?: ReturnType<typeof memorySnapshot>['restore']) =>
        runner({
          clock: systemClock,
          log: store.log,
          views: store.views,
          projections: [projection],
          remember: restore ? (_: unknown, kept: ViewRow) => into.remember(kept as ViewRow<TokenDoc>) : remember,
          needs: () => into.needs,
          take: (_, event) => into.apply(event),
          onError: (error) => progress(String(error)),
          ...(restore && { restore }),
        })
      const memoryOf = (of: typeof index) =>
        memorySnapshot({
          snapshots: store.snapshots,
          secret: new Uint8Array(32),
          log: store.log,
          index: of,
          holders: [],
          logger: { info: () => {}, warn: (fields: object) => progress(JSON.stringify(fields)) } as never,
        })
      const whole = tokenIndex(EVENTS)
      wholes.push(
        await seconds(async () => {
          for await (const rows of store.views.scan<TokenDoc>(projection)) for (const each of rows) whole.remember(each)
        }),
      )
      progress(`every row read whole in ${wholes.at(-1)!.toFixed(2)} s`)
      const follower = begins(index)
      restarts.push(await seconds(() => follower.start()))
      progress(`restarted in ${restarts.at(-1)!.toFixed(2)} s with ${index.size()} live tokens`)
      progress(
        `snapshot written in ${(await seconds(() => memoryOf(index).write(follower.remembered()))).toFixed(2)} s`,
      )
      await follower.close()
      const again = tokenIndex(EVENTS)
      const second = begins(again, memoryOf(again).restore)
      snapshots.push(await seconds(() => second.start()))
      progress(`restarted from the snapshot in ${snapshots.at(-1)!.toFixed(2)} s with ${again.size()} live tokens`)
      await second.close()
    }
    const [build, parse, restart] = [median(builds), median(parses), median(restarts)]
    return [
      row(
        'B9',
        `cold rebuild of the token view, ${EVENTS} events / JSON.parse of the same`,
        build / parse,
        { atMost: 2 },
        '',
        `${build.toFixed(2)} s against ${parse.toFixed(2)} s`,
      ),
      row(
        'B12',
        'restart with the view built / cold rebuild',
        restart / build,
        { atMost: 0.5 },
        '',
        `${restart.toFixed(2)} s`,
      ),
      row(
        'B12',
        'restart that reads live rows, in the fields that memory needs / reading every row whole',
        restart / median(wholes),
        { atMost: 0.5 },
        '',
        `${median(wholes).toFixed(2)} s`,
      ),
      row(
        'B12',
        'restart from the snapshot / reading every row whole',
        median(snapshots) / median(wholes),
        { atMost: 0.15 },
        '',
        `${median(snapshots).toFixed(2)} s`,
      ),
      ...(await rebuiltInLittle(store.directory, store.close)),
    ]
  } finally {
    await store.done()
  }
}

if (process.argv[1] === import.meta.filename) await child(process.argv[2]!)
