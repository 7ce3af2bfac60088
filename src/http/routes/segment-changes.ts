import { type SegmentChange, segment } from '../../commands/segment.ts'
import { ChangedSegment, type SegmentChangeAsked, segmentChanges } from '../../contract/flags/segment-changes.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { namespacedRoute, newId, segmentWriter } from '../commands/resource-routes.ts'
import { type TemporaryIds, temporaryIds } from '../commands/temporary-ids.ts'
import { segmentJson } from '../present/segment.ts'
import type { Mount } from '../services/service.ts'

const meant = (change: SegmentChangeAsked<ReturnType<typeof checkedConstraint>>, refs: TemporaryIds, place: string) => {
  switch (change.op) {
    case 'segment.update': {
      const { name, description, matchType } = change
      return { op: 'UpdateSegment', name, description, matchType } satisfies SegmentChange
    }
    case 'constraint.create': {
      const constraint = { ...change.constraint, id: refs.made(place, change.ref) }
      return { op: 'AddConstraint', constraint } satisfies SegmentChange
    }
    case 'constraint.update': {
      const { type, property, operator, value, description } = change
      return {
        op: 'UpdateConstraint',
        id: refs.idOf(change.id),
        to: (present) => ({
          id: present.id,
          ...checkedConstraint({
            type: type ?? present.type,
            property: property ?? present.property,
            operator: operator ?? present.operator,
            value: value ?? present.value,
            description: description ?? present.description,
          }),
        }),
      } satisfies SegmentChange
    }
    case 'constraint.delete':
      return { op: 'RemoveConstraint', id: refs.idOf(change.id) } satisfies SegmentChange
  }
}

/** Changes a segment and its constraints atomically (api.md §7.9). */
export const segmentChangesRoutes: Mount = (app, service) => {
  const { execute } = service
  const { respondWith } = segmentWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/segments/:key/changes',
    tag: 'Segments',
    right: 'segment.update',
    summary: 'Change a segment with its constraints. The service applies all changes in the given order, or none.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: segmentChanges(checkedConstraint),
    answer: ChangedSegment,
    run: (call) => {
      const refs = temporaryIds((word) => newId(call, word))
      const changes = call.body.changes.map((change, n) => meant(change, refs, `changes[${n}]`))
      return respondWith(
        call,
        call.params['key']!,
        (of, context) => execute(segment, `${of.namespace}+${of.key}`, 'ChangeSegment', { ...of, changes }, context),
        (doc) => ({ segment: segmentJson(doc), refs: refs.all() }),
      )
    },
  })
}
