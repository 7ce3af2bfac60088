import type { FastifyInstance } from 'fastify'
import { flag } from '../../commands/flag.ts'
import { attachment } from '../attachment.ts'
import { text } from '../fields.ts'
import { Variant, variantJson } from '../flag-json.ts'
import { input } from '../input.ts'
import { description, flagWriter, managed, newId, Nothing } from '../management.ts'
import { partOf } from '../parts.ts'
import type { Service } from '../service.ts'

const body = input({
  key: text({ required: true, max: 255, control: false }),
  name: text({ max: 255 }),
  description,
  attachment,
})
const tag = 'Variants'

/** Variants of a flag (api.md §7). */
export const variantsRoutes = (app: FastifyInstance, service: Service): void => {
  const { execute } = service
  const { shows, ends } = flagWriter(service)

  managed(app, {
    method: 'POST',
    url: '/flags/:flagKey/variants',
    tag,
    summary: 'Create a variant.',
    writes: true,
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body,
    answer: Variant,
    run: (call) => {
      const variant = { id: newId(call, 'variant'), ...call.body }
      return shows(
        call,
        call.params['flagKey']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'AddVariant', { ...of, variant }, context),
        (doc) => variantJson(doc, partOf(doc.variants, variant.id)),
      )
    },
  })

  managed(app, {
    method: 'PUT',
    url: '/flags/:flagKey/variants/:id',
    tag,
    summary: 'Replace a variant.',
    writes: true,
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body,
    answer: Variant,
    run: (call) => {
      const variant = { id: call.params['id']!, ...call.body }
      return shows(
        call,
        call.params['flagKey']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'UpdateVariant', { ...of, variant }, context),
        (doc) => variantJson(doc, partOf(doc.variants, variant.id)),
      )
    },
  })

  managed(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/variants/:id',
    tag,
    summary: 'Delete a variant and the distributions that give it.',
    writes: true,
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) => {
      const id = call.params['id']!
      return ends(call, call.params['flagKey']!, (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, 'RemoveVariant', { ...of, id }, { ...context, needsEffect: true }),
      )
    },
  })
}
