import type { FastifyInstance } from 'fastify'
import { Text } from '../../contract/answer.ts'
import { sharedPage } from '../metrics/metrics-page.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { InstanceServices } from '../services/instance.ts'
import { takesGzip } from '../wire/send.ts'

/**
 * Time (ms) in which the client must read the page. Clients of the metrics have timed out by then, and a slow reader
 * must not block the page longer.
 */
const PATIENCE_MS = 10_000

/** GET /metrics (api.md §11.1). */
export const metricsRoutes = (
  app: FastifyInstance,
  { metrics, clock }: Pick<InstanceServices, 'metrics' | 'clock'>,
): void => {
  const page = sharedPage(metrics.write, clock)
  route(app, {
    method: 'GET',
    url: '/metrics',
    ...ordinary,
    access: { credential: 'public' },
    tag: 'Operations',
    summary: 'Prometheus metrics.',
    answer: Text,
    run: async ({ request }) => {
      const { plain, gzipped } = await page()
      const zipped = takesGzip(request)
      const chunks = zipped ? await gzipped() : plain
      const headers = {
        'content-type': 'text/plain; version=0.0.4',
        vary: 'accept-encoding',
        ...(zipped && { 'content-encoding': 'gzip' }),
      }
      const length = chunks.reduce((sum, { length }) => sum + length, 0)
      return { body: undefined, chunks, length, holds: 'shared', within: PATIENCE_MS, headers }
    },
  })
}
