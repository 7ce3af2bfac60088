import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpuOfPair } from './in-memory.ts'
import { type Row, row } from './measure.ts'
import { offFirstCore } from './processes.ts'

/** Standard variables of the traced service: 1 % of the requests are recorded. */
const SAMPLED = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }

/** A collector that accepts all spans. */
const collector = async () => {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** B24: cost of traces for an authenticated evaluation (B1m), against a service of the same process without traces. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const { url, server } = await collector()
    Object.assign(process.env, SAMPLED)
    try {
      const { first, second, note } = await cpuOfPair([`tracing.otlp_endpoint=${url}`], [])
      const name =
        'CPU of an authenticated evaluation with traces, 1 % recorded / without traces, connections in memory'
      return [row('B24', name, first / second, { atMost: 1.05 }, '', note)]
    } finally {
      for (const variable of Object.keys(SAMPLED)) delete process.env[variable]
      server.close()
      server.closeAllConnections()
    }
  })
