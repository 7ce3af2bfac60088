import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FLAGS, TOKENS } from './http.ts'
import { asked, cpuByTurns } from './in-memory.ts'
import { type Row, row } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'

/** Standard variables of the traced service: 1 % of the requests are recorded. */
const SAMPLED = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }

/** A collector that accepts all spans. */
const collector = async () => {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** B24: cost of traces for an authenticated evaluation (B1m), measured by turns with a service without traces. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const { url, server } = await collector()
    const size = [`--flags=${FLAGS}`, `--tokens=${TOKENS}`]
    Object.assign(process.env, SAMPLED)
    const traced = await startServer('service', ...size, `--set=tracing.otlp_endpoint=${url}`)
    for (const name of Object.keys(SAMPLED)) delete process.env[name]
    const plain = await startServer('service', ...size)
    try {
      const path = '/evaluate/v1/boolean'
      const [mine, other] = await cpuByTurns(await asked(traced, path), await asked(plain, path))
      const name =
        'CPU of an authenticated evaluation with traces, 1 % recorded / without traces, connections in memory'
      const note = `${mine.toFixed(1)} µs, ${other.toFixed(1)} µs`
      return [row('B24', name, mine / other, { atMost: 1.05 }, '', note)]
    } finally {
      await Promise.all([traced.stop(), plain.stop()])
      server.close()
      server.closeAllConnections()
    }
  })
