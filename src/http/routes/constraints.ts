import type { FastifyInstance } from 'fastify'
import { segment } from '../../commands/segment.ts'
import { Nothing } from '../../contract/answer.ts'
import { partOf } from '../../contract/flags/rule.ts'
import { Constraint, constraintBody } from '../../contract/flags/segment.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { checkedConstraint } from '../commands/constraint-check.ts'
import { namespacedRoute, newId, segmentWriter } from '../commands/resource-routes.ts'
import { constraintJson } from '../present/segment.ts'
import type { Call } from '../route/route.ts'
import type { FlagService } from '../services/flags.ts'

type Body = ReadBy<typeof constraintBody>

const changing = { tag: 'Constraints', right: 'segment.update', writes: 'unless-read-only' } as const

/** Constraints of a segment (api.md §7). */
export const constraintsRoutes = (app: FastifyInstance, service: FlagService): void => {
  const { execute } = service
  const { respondWith, respondRevision } = segmentWriter(service)

  /** Runs a command with the constraint of the body, and answers with the constraint. */
  const write = (call: Call<Body, undefined>, command: 'AddConstraint' | 'UpdateConstraint', id: string) => {
    const constraint = { id, ...checkedConstraint(call.body) }
    return respondWith(
      call,
      call.params['segmentKey']!,
      (of, context) => execute(segment, `${of.namespace}+${of.key}`, command, { ...of, constraint }, context),
      (doc) => constraintJson(doc, partOf(doc.constraints, id)),
    )
  }

  namespacedRoute(app, {
    method: 'POST',
    url: '/segments/:segmentKey/constraints',
    ...changing,
    summary: 'Create a constraint.',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: constraintBody,
    answer: Constraint,
    run: (call) => write(call, 'AddConstraint', newId(call, 'constraint')),
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/segments/:segmentKey/constraints/:id',
    ...changing,
    summary: 'Replace a constraint.',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: constraintBody,
    answer: Constraint,
    run: (call) => write(call, 'UpdateConstraint', call.params['id']!),
  })

  namespacedRoute(app, {
    method: 'DELETE',
    url: '/segments/:segmentKey/constraints/:id',
    ...changing,
    summary: 'Delete a constraint.',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) => {
      const id = call.params['id']!
      return respondRevision(call, call.params['segmentKey']!, (of, context) =>
        execute(
          segment,
          `${of.namespace}+${of.key}`,
          'RemoveConstraint',
          { ...of, id },
          { ...context, needsEffect: true },
        ),
      )
    },
  })
}
