import { randomUUID } from 'node:crypto'
import type { Stored } from '../src/events/log.ts'
import { anyProjection } from '../src/projections/projection.ts'
import { rebuild } from '../src/projections/engine/rebuild.ts'
import { runner } from '../src/projections/engine/runner.ts'
import { tokenIndex } from '../src/projections/token-index.ts'
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
    for (let round = 0; round < ROUNDS; round++) {
      builds.push(await seconds(() => rebuild(store.log, store.views, [projection])))
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
      const follower = runner({
        log: store.log,
        views: store.views,
        projections: [projection],
        remember,
        onError: (error) => progress(String(error)),
      })
      restarts.push(await seconds(() => follower.start()))
      progress(`restarted in ${restarts.at(-1)!.toFixed(2)} s with ${index.size()} live tokens`)
      await follower.close()
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
    ]
  } finally {
    await store.done()
  }
}
