import { Type } from 'typebox'
import { invalid, refuse } from '../../../base/errors.ts'
import {
  consistencyQuery,
  LedgerConsistency,
  LedgerProof,
  type ProofQuery,
  proofQuery,
} from '../../../contract/history/ledger.ts'
import type { KeptCheckpoint } from '../../../ledger/ledger-store.ts'
import { entryOf } from '../../../verifier/entry.ts'
import { hashOfBase64, leafOf } from '../../../verifier/hashes.ts'
import { base64Of } from '../../../verifier/platform.ts'
import { proofText, type Withheld } from '../../../verifier/proof/proof-text.ts'
import { consistencyProof, inclusionProof, verifyInclusion } from '../../../verifier/proof/proofs.ts'
import { hasTile, parseTilePath, TILE_WIDTH } from '../../../verifier/tiles.ts'
import { countReading, eventAt } from '../../history/event-page.ts'
import { extendedCheckpoint, insistOnSize, newestCheckpoint } from '../../history/newest-checkpoint.ts'
import { allRoutes, type Call, route } from '../../route/route.ts'
import { searching } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'

const { access, bodyLimit, tag } = searching
const reading = { access, cache: 'no-store', bodyLimit, tag } as const
const noResource = (): never => refuse('not_found')

/** Checkpoint of a proof: the kept one of a size, else the newest, which is made if the event has none yet. */
const checkpointOf = async (service: HistoryService, index: number, size: number): Promise<KeptCheckpoint> => {
  if (size === 0) return extendedCheckpoint(service, index + 1)
  if (size <= index) return noResource()
  const served = service.ledger.served()
  return (served?.size === size ? served : await service.ledger.checkpoint(size)) ?? noResource()
}

/** The proof of an event, as JSON or as text. */
const proofOf = async (service: HistoryService, call: Call<unknown, ProofQuery>) => {
  const { size: wanted, withhold, format } = call.query
  const { index, record } = await eventAt(service, call.params['position']!)
  const { size, root, text: checkpoint } = await checkpointOf(service, index, wanted)
  await insistOnSize(service, size)
  const hashes = await inclusionProof(index, size, service.ledger.nodes)
  const entry = entryOf(record)
  // The log may differ from a kept checkpoint of a given size.
  if (!verifyInclusion(leafOf(entry), index, hashes, { size, root: hashOfBase64(root)! })) refuse('ledger_suspended')
  countReading(service, call, 1, format === 'json' ? 'json' : 'text')
  if (format === 'json') return { body: { index, size, root, hashes: hashes.map(base64Of), entry, checkpoint } }
  const { data, meta } = record
  const text = proofText({ index, entry, data, meta, hashes, checkpoint }, (withhold?.any ?? []) as readonly Withheld[])
  return { body: text, headers: { 'content-type': 'text/plain; charset=utf-8' } }
}

const getProof: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger/proof/:position',
    ...reading,
    summary: 'Get the inclusion proof of the event at a position, as a C2SP tlog-proof or as JSON.',
    query: proofQuery,
    errors: ['not_found', 'view_behind', 'ledger_suspended'],
    answer: Type.Union([LedgerProof, Type.String()]),
    run: (call) => proofOf(service, call),
  })

const getConsistency: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger/consistency',
    ...reading,
    summary: 'Get the consistency proof between two sizes of the tree.',
    query: consistencyQuery,
    errors: ['view_behind', 'ledger_suspended'],
    answer: LedgerConsistency,
    run: async ({ query: { from, to: given } }) => {
      const { ledger } = service
      const { size: newest } = await extendedCheckpoint(service)
      const to = given === 0 ? newest : given
      if (to > newest) invalid('to', `must be between 1 and ${newest}`)
      if (from < 1 || from > to) invalid('from', `must be between 1 and ${to}`)
      await insistOnSize(service, to)
      const hashes = await consistencyProof(from, to, ledger.nodes)
      const tree = async (size: number) => ({ size, root: base64Of(await ledger.rootAt(size)) })
      return { body: { from: await tree(from), to: await tree(to), hashes: hashes.map(base64Of) } }
    },
  })

/** A tile never changes once a checkpoint proves it. Until then a cache must not keep it. */
const tileHeaders = (isProven: boolean) => ({
  'content-type': 'application/octet-stream',
  'cache-control': isProven ? 'private, max-age=31536000, immutable' : 'no-store',
})

const getTile: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/ledger/tile/*',
    ...reading,
    cache: 'unstated',
    summary: 'Get a tile of the tree, or a bundle of its entries (C2SP tlog-tiles).',
    errors: ['not_found', 'view_behind', 'ledger_suspended'],
    answer: Type.String(),
    run: async (call) => {
      const { ledger } = service
      const tile = parseTilePath(`tile/${call.params['*']!}`)
      const { size } = await newestCheckpoint(service)
      if (!tile || !hasTile(size, tile)) return noResource()
      const { level, index, width } = tile
      const through =
        level === 'entries' ? index * TILE_WIDTH + width : TILE_WIDTH ** level * (index * TILE_WIDTH + width)
      await insistOnSize(service, through)
      const isEntries = level === 'entries'
      const bytes = isEntries ? await ledger.entries(index, width) : await ledger.tile(level, index, width)
      if (isEntries) countReading(service, call, width, 'entries')
      return {
        body: undefined,
        chunks: [Buffer.from(bytes)],
        length: bytes.length,
        holds: bytes.length,
        headers: tileHeaders(ledger.covers(through - 1)),
      }
    },
  })

/** Routes of tiles and proofs (api.md §17). */
export const auditLedgerProofsRoutes = allRoutes(getTile, getProof, getConsistency)
