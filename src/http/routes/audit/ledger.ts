import {
  type CheckpointsQuery,
  checkpointsQuery,
  LedgerCheckpoint,
  LedgerCheckpoints,
  LedgerStatus,
} from '../../../contract/history/ledger.ts'
import type { KeptCheckpoint } from '../../../ledger/ledger-store.ts'
import { newestCheckpoint, sealedNow } from '../../history/newest-checkpoint.ts'
import { allRoutes, type Call, route } from '../../route/route.ts'
import { searching } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'

const { access, cache, bodyLimit, tag } = searching
const reading = { access, cache, bodyLimit, tag } as const

/** Checkpoints of a page, and at most. */
const [PAGE, PAGE_MAX] = [100, 1000]

const shown = ({ size, root, sealedAt, text }: KeptCheckpoint): LedgerCheckpoint => ({ size, root, sealedAt, text })

const getLedger: HistoryMount = (app, { ledger }) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger',
    ...reading,
    summary: 'Get the state of the ledger, its newest checkpoint, its keys and witnesses.',
    answer: LedgerStatus,
    run: async () => {
      const { state, of, keys, size, sealed, witnesses, scrub } = await ledger.status()
      const named = of && { ledger: of.ledger, origin: of.origin }
      const newest = sealed && { sealed: { size: sealed.size, root: sealed.root, sealedAt: sealed.sealedAt } }
      const lists = { keys: [...keys], witnesses: [...witnesses] }
      return { body: { state, ...named, size, ...newest, ...lists, scrub: scrub ?? {} } }
    },
  })

const getCheckpoint: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger/checkpoint',
    ...reading,
    cache: 'unstated',
    summary: 'Get the newest checkpoint as a signed note.',
    errors: ['view_behind', 'ledger_suspended'],
    answer: LedgerCheckpoint.properties.text,
    run: async () => {
      const { text } = await newestCheckpoint(service)
      return { body: text, headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' } }
    },
  })

const postCheckpoint: HistoryMount = (app, service) =>
  route(app, {
    method: 'POST',
    url: '/audit/v1/ledger/checkpoint',
    ...searching,
    summary: 'Make a checkpoint of all events so far, at most one a second.',
    errors: ['view_behind', 'ledger_suspended'],
    answer: LedgerCheckpoint,
    run: async () => ({ body: shown(await sealedNow(service)) }),
  })

/** Kept checkpoints before the cursor of a page token, the newest first. */
const checkpointPage = async (
  { ledger, pageTokens }: HistoryService,
  { query: { limit, pageToken } }: Call<unknown, CheckpointsQuery>,
) => {
  const scope = ['checkpoints']
  const below = pageToken === '' ? Number.MAX_SAFE_INTEGER : (pageTokens.read(scope, pageToken) as number)
  const most = limit === 0 ? PAGE : Math.min(limit, PAGE_MAX)
  const found = await ledger.checkpoints(below, most + 1)
  const page = found.slice(0, most)
  const next = found.length > most ? pageTokens.write(scope, page.at(-1)!.size) : ''
  return { checkpoints: (await ledger.signed(page)).map(shown), nextPageToken: next }
}

const getCheckpoints: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger/checkpoints',
    ...reading,
    summary: 'List the kept checkpoints, the newest first.',
    query: checkpointsQuery,
    errors: ['invalid_page_token'],
    answer: LedgerCheckpoints,
    run: async (call) => ({ body: await checkpointPage(service, call) }),
  })

/** Routes of the ledger and its checkpoints (api.md §17). */
export const auditLedgerRoutes = allRoutes(getLedger, getCheckpoint, postCheckpoint, getCheckpoints)
