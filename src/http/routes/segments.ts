import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { segment } from '../../commands/segment.ts'
import { refuse } from '../../errors.ts'
import { ok } from '../answer.ts'
import { matchTypes } from '../enums.ts'
import { input } from '../input.ts'
import {
  createsOnly,
  description,
  key,
  managed,
  name,
  namespaceOf,
  Nothing,
  paged,
  pageFields,
  segmentWriter,
  single,
  viewOf,
} from '../management.ts'
import { byPlace, pageOf } from '../paging.ts'
import { Segment, segmentJson } from '../segment-json.ts'
import type { Service } from '../service.ts'

const tag = 'Segments'
const members = { name, description, matchType: matchTypes.field('all') }

/** Segments (api.md §7). Their constraints have routes of their own. */
export const segmentsRoutes = (app: FastifyInstance, service: Service): void => {
  const { execute, claims, catalog } = service
  const { shows, ends } = segmentWriter(service)

  managed(app, {
    method: 'GET',
    url: '/segments',
    tag,
    summary: 'List the segments of a namespace, oldest first.',
    query: paged,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: Type.Object({ segments: Type.Array(Segment), ...pageFields }),
    run: async (call) => {
      const { query } = call
      const namespace = namespaceOf(call)
      const all = await (await viewOf(service, query.at)).segments(namespace)
      const shown = { names: ['segments'], show: ({ doc }: (typeof all)[number]) => segmentJson(doc) }
      return pageOf(service, ['segments', namespace, query.at], all, query, byPlace, shown)
    },
  })

  managed(app, {
    method: 'POST',
    url: '/segments',
    tag,
    summary: 'Create a segment.',
    writes: true,
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: input({ key, ...members }),
    answer: Segment,
    run: (call) => {
      const { body } = call
      return shows(
        call,
        body.key,
        async ({ namespace, incarnation }, context) => {
          if (incarnation === '') refuse('not_found', `namespace "${namespace}" not found`)
          createsOnly(context, catalog.segment(namespace, body.key)?.changes)
          return claims.createSegment({ ...body, namespace }, context)
        },
        segmentJson,
      )
    },
  })

  managed(app, {
    method: 'GET',
    url: '/segments/:key',
    tag,
    summary: 'Get a segment with its constraints.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Segment,
    run: async (call) => {
      const [namespace, key] = [namespaceOf(call), call.params['key']!]
      const row = await (await viewOf(service, call.query.at)).segment(namespace, key)
      return row ? ok(segmentJson(row.doc), row.changes) : refuse('not_found', `segment "${namespace}/${key}" not found`)
    },
  })

  managed(app, {
    method: 'PUT',
    url: '/segments/:key',
    tag,
    summary: 'Replace a segment; its constraints stay.',
    writes: true,
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: input(members),
    answer: Segment,
    run: (call) =>
      shows(
        call,
        call.params['key']!,
        (of, context) => execute(segment, `${of.namespace}+${of.key}`, 'UpdateSegment', { ...of, ...call.body }, context),
        segmentJson,
      ),
  })

  managed(app, {
    method: 'DELETE',
    url: '/segments/:key',
    tag,
    summary: 'Delete a segment that no rule or rollout uses.',
    writes: true,
    errors: ['in_use', 'revision_moved'],
    answer: Nothing,
    run: (call) => ends(call, call.params['key']!, (of, context) => claims.deleteSegment(of, { ...context, needsEffect: true })),
  })
}
