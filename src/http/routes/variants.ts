import type { FastifyInstance } from 'fastify'
import { Nothing } from '../../contract/answer.ts'
import { Variant, variantBody } from '../../contract/variant.ts'
import { flag } from '../../commands/flag/flag.ts'
import { variantJson } from '../present/flag.ts'
import { flagWriter, namespacedRoute, newId } from '../resource-routes.ts'
import { partOf } from '../../contract/rule-fields.ts'
import type { Service } from '../service.ts'

const tag = 'Variants'

/** Variants of a flag (api.md §7). */
export const variantsRoutes = (app: FastifyInstance, service: Service): void => {
  const { execute } = service
  const { respondWith, respondEmpty } = flagWriter(service)

  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:flagKey/variants',
    tag,
    summary: 'Create a variant.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: variantBody,
    answer: Variant,
    run: (call) => {
      const variant = { id: newId(call, 'variant'), ...call.body }
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'AddVariant', { ...of, variant }, context),
        (doc) => variantJson(doc, partOf(doc.variants, variant.id)),
      )
    },
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/variants/:id',
    tag,
    summary: 'Replace a variant.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: variantBody,
    answer: Variant,
    run: (call) => {
      const variant = { id: call.params['id']!, ...call.body }
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'UpdateVariant', { ...of, variant }, context),
        (doc) => variantJson(doc, partOf(doc.variants, variant.id)),
      )
    },
  })

  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/variants/:id',
    tag,
    summary: 'Delete a variant and the distributions that give it.',
    writes: 'unless-read-only',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) => {
      const id = call.params['id']!
      return respondEmpty(call, call.params['flagKey']!, (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, 'RemoveVariant', { ...of, id }, { ...context, needsEffect: true }),
      )
    },
  })
}
