import type { FastifyInstance } from 'fastify'
import { flag } from '../../commands/flag/flag.ts'
import { Nothing } from '../../contract/answer.ts'
import { partialRules, partialRulesInWords } from '../../contract/answers.ts'
import { partOf } from '../../contract/flags/rule.ts'
import { Variant, variantBody } from '../../contract/flags/variant.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { flagWriter, namespacedRoute, newId } from '../commands/resource-routes.ts'
import { variantJson } from '../present/flag.ts'
import type { Call } from '../route/route.ts'
import type { FlagService } from '../services/flags.ts'

const changing = { tag: 'Variants', right: 'flag.update', writes: 'unless-read-only' } as const
type Body = ReadBy<typeof variantBody>

/** Variants of a flag (api.md §7). */
export const variantsRoutes = (app: FastifyInstance, service: FlagService): void => {
  const { execute } = service
  const { respondWith, respondRevision } = flagWriter(service)

  /** Runs a command with the variant of the body, and answers with the variant. */
  const write = (call: Call<Body, undefined>, command: 'AddVariant' | 'UpdateVariant', id: string) =>
    respondWith(
      call,
      call.params['flagKey']!,
      (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, command, { ...of, variant: { id, ...call.body } }, context),
      (doc) => variantJson(doc, partOf(doc.variants, id)),
    )

  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:flagKey/variants',
    ...changing,
    summary: 'Create a variant.',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: variantBody,
    answer: Variant,
    run: (call) => write(call, 'AddVariant', newId(call, 'variant')),
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/variants/:id',
    ...changing,
    summary: 'Replace a variant.',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: variantBody,
    answer: Variant,
    run: (call) => write(call, 'UpdateVariant', call.params['id']!),
  })

  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/variants/:id',
    ...changing,
    summary: 'Delete a variant and all distributions that return it.',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) => {
      const id = call.params['id']!
      return respondRevision(
        call,
        call.params['flagKey']!,
        (of, context) =>
          execute(flag, `${of.namespace}+${of.key}`, 'RemoveVariant', { ...of, id }, { ...context, needsEffect: true }),
        ({ rules }) => partialRulesInWords(partialRules(rules)),
      )
    },
  })
}
