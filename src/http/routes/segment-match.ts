import { inPlace, refuse } from '../../base/errors.ts'
import { SegmentMatch, segmentMatchBody } from '../../contract/flags/segment.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import type { ConstraintInput } from '../../evaluation/flag.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { namespacedRoute, namespaceOf } from '../commands/resource-routes.ts'
import { matchOf } from '../evaluation/segment-match.ts'
import type { FlagMount } from '../services/flags.ts'

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
