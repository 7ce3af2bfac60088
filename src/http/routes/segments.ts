import { inPlace, refuse } from '../../base/errors.ts'
import { segment } from '../../commands/segment.ts'
import { Nothing } from '../../contract/answer.ts'
import {
  newSegment,
  Segment,
  SegmentList,
  SegmentMatch,
  segmentMatchBody,
  segmentQuery,
  segmentUpdate,
} from '../../contract/flags/segment.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { single } from '../../contract/resource.ts'
import type { ConstraintInput } from '../../evaluation/flag.ts'
import { segmentsAsked } from '../../projections/flags.ts'
import type { SegmentDoc } from '../../projections/resource-model.ts'
import { createsOnly } from '../commands/command-context.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { namespacedRoute, namespaceOf, segmentWriter, takeDocument, viewOf } from '../commands/resource-routes.ts'
import { matchOf } from '../evaluation/segment-match.ts'
import { documentsOf, type Looked, listPage } from '../lists/list-page.ts'
import { lastChanges } from '../present/last-change.ts'
import { segmentJson } from '../present/segment.ts'
import { allRoutes } from '../route/route.ts'
import type { FlagMount, FlagService } from '../services/flags.ts'
import { ok } from '../wire/reply.ts'

/** Constraints of a request, each checked when it is reached. */
function* checked(given: NonNullable<ReadBy<typeof segmentMatchBody>['constraints']>): Generator<ConstraintInput> {
  for (const [n, one] of given.entries())
    yield inPlace(`constraints[${n}]`, () => ({ id: '', ...checkedConstraint(one) }))
}

/** Tests a segment, stored or as a draft, with one entity (api.md §7.10). */
export const segmentMatchRoutes: FlagMount = (app, { flagStore }) =>
  namespacedRoute(app, {
    method: 'POST',
    url: '/segments/:key/match',
    tag: 'Segments',
    right: 'segment.read',
    summary: 'Test whether an entity is in a segment, with the stored constraints or with those of the request.',
    writes: false,
    errors: ['not_found', 'invalid_argument'],
    body: segmentMatchBody,
    answer: SegmentMatch,
    run: async ({ body, ...call }) => {
      const [namespace, key] = [namespaceOf({ body, ...call }), call.params['key']!]
      const { doc } =
        flagStore.segment(namespace, key) ?? refuse('not_found', `segment "${namespace}/${key}" not found`)
      const matchType = body.matchType ?? doc.matchType
      const constraints = body.constraints ? checked(body.constraints) : doc.constraints
      return { body: await matchOf(body, { matchType, constraints }) }
    },
  })

const tag = 'Segments'

/** A segment with its last change and the number of flags that use it. */
const withUsage = async (service: FlagService, view: Looked, namespace: string) => {
  const flags = new Map<string, number>()
  for await (const flag of documentsOf(view, 'flags', namespace))
    for (const key of segmentsAsked(flag)) flags.set(key, (flags.get(key) ?? 0) + 1)
  const lastChange = lastChanges(service)
  return async (doc: SegmentDoc) => ({
    ...segmentJson(doc),
    ...(await lastChange(doc)),
    usageCount: flags.get(doc.key) ?? 0,
  })
}

const listSegments: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/segments',
    tag,
    right: 'segment.read',
    summary: 'List the segments of a namespace, oldest first. By default the answer contains all segments.',
    query: segmentQuery,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: SegmentList,
    run: (call) => {
      const { query } = call
      const namespace = namespaceOf(call)
      return listPage(service, call, 'segments', namespace, {
        show: (view) => (query.include === 'usage' ? withUsage(service, view, namespace) : segmentJson),
      })
    },
  })

const createSegment: FlagMount = (app, service) => {
  const { reservations, flagStore } = service
  const { respondWith } = segmentWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/segments',
    tag,
    right: 'segment.create',
    summary: 'Create a segment.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: newSegment,
    answer: Segment,
    run: (call) => {
      const { body } = call
      return respondWith(
        call,
        body.key,
        async ({ namespace, incarnation }, context) => {
          if (incarnation === '') refuse('not_found', `namespace "${namespace}" not found`)
          createsOnly(context, flagStore.segment(namespace, body.key)?.changes)
          return reservations.createSegment({ ...body, namespace }, context)
        },
        segmentJson,
      )
    },
  })
}

const getSegment: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/segments/:key',
    tag,
    right: 'segment.read',
    summary: 'Get a segment with its constraints.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Segment,
    run: async (call) => {
      const [namespace, key] = [namespaceOf(call), call.params['key']!]
      await takeDocument(service, call, 'segments', key)
      const row = await (await viewOf(service, call)).segment(namespace, key)
      return row
        ? ok(segmentJson(row.doc), row.changes)
        : refuse('not_found', `segment "${namespace}/${key}" not found`)
    },
  })

const updateSegment: FlagMount = (app, service) => {
  const { execute } = service
  const { respondWith } = segmentWriter(service)
  namespacedRoute(app, {
    method: 'PUT',
    url: '/segments/:key',
    tag,
    right: 'segment.update',
    summary: 'Replace the fields of a segment. Its constraints do not change.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: segmentUpdate,
    answer: Segment,
    run: (call) =>
      respondWith(
        call,
        call.params['key']!,
        (of, context) =>
          execute(segment, `${of.namespace}+${of.key}`, 'UpdateSegment', { ...of, ...call.body }, context),
        segmentJson,
      ),
  })
}

const deleteSegment: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondEmpty } = segmentWriter(service)
  namespacedRoute(app, {
    method: 'DELETE',
    url: '/segments/:key',
    tag,
    right: 'segment.delete',
    summary: 'Delete a segment that no rule or rollout uses.',
    writes: 'unless-read-only',
    errors: ['in_use', 'revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondEmpty(call, call.params['key']!, (of, context) =>
        reservations.deleteSegment(of, { ...context, needsEffect: true }),
      ),
  })
}

/** Segments (api.md §7). Constraints have their own routes. */
export const segmentsRoutes = allRoutes(listSegments, createSegment, getSegment, updateSegment, deleteSegment)
