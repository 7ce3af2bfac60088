import { type SegmentChange, segment } from '../../commands/segment.ts'
import { ChangedSegment, type SegmentChangeAsked, segmentChanges } from '../../contract/flags/segment.ts'
import { dryRunQuery } from '../../contract/readers/changes.ts'
import type { SegmentDoc } from '../../projections/resource-model.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { insistOnDryRun } from '../commands/dry-run.ts'
import { namespacedRoute, newId, segmentWriter } from '../commands/resource-routes.ts'
import { type TemporaryIds, temporaryIds } from '../commands/temporary-ids.ts'
import { matchOf } from '../evaluation/segment-match.ts'
import { segmentJson } from '../present/segment.ts'
import type { FlagMount } from '../services/flags.ts'

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

/** Changes a segment and its constraints atomically, or tries the changes without a write (api.md §7.9). */
export const segmentChangesRoutes: FlagMount = (app, service) => {
  const { execute, rehearsal } = service
  const { respondWith, respondRehearsed } = segmentWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/segments/:key/changes',
    tag: 'Segments',
    right: 'segment.update',
    evaluates: 'segment.read',
    summary:
      'Change a segment with its constraints. The service applies all changes in the given order, or none. With `dryRun=true` it answers with the segment after the changes and writes nothing.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: segmentChanges(checkedConstraint),
    query: dryRunQuery,
    answer: ChangedSegment,
    run: (call) => {
      const { body, query } = call
      const key = call.params['key']!
      const refs = temporaryIds((word) => newId(call, word))
      const changes = body.changes.map((change, n) => meant(change, refs, `changes[${n}]`))
      const changing =
        (run: typeof execute) =>
        (of: Parameters<Parameters<typeof respondWith>[2]>[0], context: Parameters<typeof run>[4]) =>
          run(segment, `${of.namespace}+${of.key}`, 'ChangeSegment', { ...of, changes }, context)
      const shown = (doc: SegmentDoc) => ({ segment: segmentJson(doc), refs: refs.all() })
      if (!query.dryRun) {
        insistOnDryRun(body)
        return respondWith(call, key, changing(execute), shown)
      }
      const entity = body.evaluate
      return respondRehearsed(call, key, changing(rehearsal.execute), async (present, changed, revision) => ({
        ...shown(changed),
        revision,
        ...(entity && {
          evaluations: { present: await matchOf(entity, present), changed: await matchOf(entity, changed) },
        }),
      }))
    },
  })
}
