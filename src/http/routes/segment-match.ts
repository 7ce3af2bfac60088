import { SegmentMatch, segmentMatchBody } from '../../contract/flags/segment-match.ts'
import { inPlace, refuse } from '../../errors.ts'
import { compileConstraint, isNever } from '../../evaluation/constraint.ts'
import type { ConstraintInput } from '../../evaluation/flag.ts'
import { holds, subjectOf } from '../../evaluation/segment.ts'
import { timeSlicer } from '../../event-loop.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { namespacedRoute, namespaceOf } from '../commands/resource-routes.ts'
import type { Mount } from '../services/service.ts'

/** Tests a segment, stored or as a draft, with one entity (api.md §7.10). */
export const segmentMatchRoutes: Mount = (app, { flagStore }) =>
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
      const subject = subjectOf(body.entityId, body.context)
      const pause = timeSlicer()
      const results: { readonly matched: boolean; readonly never?: true }[] = []
      const test = (of: ConstraintInput) => {
        const constraint = compileConstraint(of) ?? refuse('invalid_argument', 'unknown constraint type')
        const matched = holds(constraint, subject)
        if (subject.left < 0) refuse('invalid_argument', 'evaluation takes too much work')
        results.push({ matched, ...(isNever(constraint) && { never: true as const }) })
      }
      if (body.constraints)
        for (const [n, given] of body.constraints.entries()) {
          inPlace(`constraints[${n}]`, () => test({ id: '', ...checkedConstraint(given) }))
          await pause()
        }
      else
        for (const constraint of doc.constraints) {
          test(constraint)
          await pause()
        }
      const any = (body.matchType ?? doc.matchType) === 'any' && results.length > 0
      const matched = any ? results.some((one) => one.matched) : results.every((one) => one.matched)
      return { body: { matched, constraints: results } }
    },
  })
