import { join } from 'node:path'
import { everyRoute } from '../test/http/dense.ts'
import { heavyRequests, makeHeavy } from '../test/http/heavy.ts'
import { watchedService } from '../test/http/watching.ts'
import { median, progress, type Row, row } from './measure.ts'

const FLAGS = 1_000
const ROUNDS = 3
const PARSES = 9
/** A body of 4 MiB is parsed in some 5 ms; 50 ms are what nobody is to be held up beyond. */
const MOST = 10

const shortest = (stops: Map<string, number>, name: string, ms: number) =>
  void stops.set(name, Math.min(ms, stops.get(name) ?? Number.POSITIVE_INFINITY))

/** B21: how long a request that is much work holds the event loop, B22: how long the worst bodies of every route do, against JSON.parse of the largest body; the shortest of some rounds, for noise only ever adds. */
export const run = async (): Promise<readonly Row[]> => {
  progress('B21, B22: the longest stops of the event loop')
  const parses: number[] = []
  const [heavy, every] = [new Map<string, number>(), new Map<string, number>()]
  for (let round = 0; round < ROUNDS; round++) {
    const service = await watchedService(join(import.meta.dirname, 'servers/watched.js'))
    const stopOf = async (stops: Map<string, number>, name: string, method: string, path: string, body: unknown) => {
      await service.figure()
      const { status } = await service.request(method, path, body)
      shortest(stops, `${name}: ${status}`, await service.figure())
    }
    try {
      await makeHeavy(service, FLAGS)
      for (let n = 0; n < PARSES; n++) parses.push(await service.figure('parse'))
      for (const [, why, method, path, body] of heavyRequests(new Date(), FLAGS))
        await stopOf(heavy, `${method} ${path.split('?', 1)[0]}, ${why}`, method, path, body)
      for (const { route, why, method, path, body } of await everyRoute(service))
        await stopOf(every, `${route}, ${why}`, method, path, body)
    } finally {
      await service.close()
    }
  }
  const parse = median(parses)
  progress(`${parse.toFixed(1)} ms JSON.parse of the largest body`)
  const worst = (id: string, what: string, stops: ReadonlyMap<string, number>): Row => {
    const sorted = [...stops].toSorted(([, one], [, other]) => other - one)
    for (const [name, ms] of sorted.slice(0, 10)) progress(`${ms.toFixed(1)} ms ${name}`)
    const [name, ms] = sorted[0]!
    return row(id, `${what} / JSON.parse of the largest body`, ms / parse, { atMost: MOST }, '', `the worst: ${name}`)
  }
  return [
    worst('B21', 'the longest stop of a request that is much work', heavy),
    worst('B22', 'the longest stop of the worst bodies of every route', every),
  ]
}
