import { refuse } from '../../../base/errors.ts'
import { sliced } from '../../../base/event-loop.ts'
import { ReadModel, type ReadModelRow } from '../../../contract/history/state.ts'
import { query } from '../../../contract/readers/input.ts'
import { projections } from '../../../projections/all.ts'
import type { AnyProjection } from '../../../projections/projection.ts'
import { rowHash } from '../../../projections/projection.ts'
import { countReading } from '../../history/event-page.ts'
import { streamHolder } from '../../history/event-stream.ts'
import { streamOf } from '../../memory/stream-slots.ts'
import { type Call, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'
import { type Answer, streamHeaders } from '../../wire/reply.ts'

/** Memory in bytes of a page of rows while their hashes are sent. */
const HOLDS = 1_048_576

const lineOf = (value: ReadModel | ReadModelRow): string => `${JSON.stringify(value)}\n`

/** Lines of a read model: its name, version and position, then its rows with their hashes. */
async function* linesOf({ views }: HistoryService, model: AnyProjection, stopped: AbortSignal): AsyncGenerator<Buffer> {
  const { name, version } = model
  const position = (await views.checkpoint(model))?.position ?? 0n
  yield Buffer.from(lineOf({ name, version, position: String(position) }))
  for await (const part of sliced(views.scan(model))) {
    let lines = ''
    for (const row of part) lines += lineOf({ key: row.key, position: String(row.position), sha256: rowHash(row) })
    stopped.throwIfAborted()
    if (lines !== '') yield Buffer.from(lines)
  }
}

const rowsAnswer = async (service: HistoryService, call: Call<unknown, object>): Promise<Answer<ReadModel>> => {
  const { params, request } = call
  const name = params['name']!
  const model = projections.find((each) => each.name === name) ?? refuse('not_found', `read model "${name}" not found`)
  const headers = streamHeaders('application/x-ndjson')
  if (request.method === 'HEAD') return { body: undefined, chunks: [], headers }
  const over = streamOf(service, call, await streamHolder(service, call))
  countReading(service, call, 0, 'ndjson')
  return { body: undefined, chunks: linesOf(service, model, over), holds: HOLDS, headers }
}

/** Route of the rows of a read model, by which a replay is compared with a running service (api.md §16.19). */
export const auditReadModelsRoutes: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/read-models/:name',
    ...audit,
    access: { credential: 'required', namespace: 'none', right: 'audit.read' },
    summary: 'List the keys of all rows of a read model with hashes of their documents; as NDJSON.',
    query: query({}),
    errors: ['not_found', 'rate_limited', 'history_busy'],
    answer: ReadModel,
    run: async (call) => rowsAnswer(service, call),
  })
