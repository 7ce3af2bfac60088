import type { FastifyInstance } from 'fastify'
import { flag } from '../../commands/flag/flag.ts'
import { Nothing } from '../../contract/answer.ts'
import { partialShareInWords } from '../../contract/answers.ts'
import { Distribution, distributionBody, distributionDeletion, partOf } from '../../contract/flags/rule.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { flagWriter, namespacedRoute, newId } from '../commands/resource-routes.ts'
import { distributionJson } from '../present/flag.ts'
import type { Call } from '../route/route.ts'
import type { FlagService } from '../services/flags.ts'

const changing = { tag: 'Distributions', right: 'flag.update', writes: 'unless-read-only' } as const
type Body = ReadBy<typeof distributionBody>

/** Distributions of a rule (api.md §7). */
export const distributionsRoutes = (app: FastifyInstance, service: FlagService): void => {
  const { execute } = service
  const { respondWith, respondRevision } = flagWriter(service)

  /** Runs a command with the distribution of the body, and answers with the distribution. */
  const write = (call: Call<Body, undefined>, command: 'AddDistribution' | 'UpdateDistribution', id: string) => {
    const rule = call.params['ruleId']!
    const distribution = { id, ...call.body }
    return respondWith(
      call,
      call.params['flagKey']!,
      (of, context) => execute(flag, `${of.namespace}+${of.key}`, command, { ...of, rule, distribution }, context),
      (doc) => distributionJson(rule, partOf(partOf(doc.rules, rule).distributions, id)),
      (doc) => partialShareInWords(partOf(doc.rules, rule).distributions),
    )
  }

  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:flagKey/rules/:ruleId/distributions',
    ...changing,
    summary: 'Create a distribution: a percentage of the entities that match the rule gets the variant.',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: distributionBody,
    answer: Distribution,
    run: (call) => write(call, 'AddDistribution', newId(call, 'distribution')),
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/rules/:ruleId/distributions/:id',
    ...changing,
    summary: 'Replace a distribution.',
    errors: ['not_found', 'revision_moved'],
    body: distributionBody,
    answer: Distribution,
    run: (call) => write(call, 'UpdateDistribution', call.params['id']!),
  })

  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/rules/:ruleId/distributions/:id',
    ...changing,
    summary: 'Delete a distribution. The request must also name its variant.',
    errors: ['revision_moved'],
    query: distributionDeletion,
    answer: Nothing,
    run: (call) => {
      const [rule, id, variantId] = [call.params['ruleId']!, call.params['id']!, call.query.variantId]
      return respondRevision(
        call,
        call.params['flagKey']!,
        (of, context) =>
          execute(
            flag,
            `${of.namespace}+${of.key}`,
            'RemoveDistribution',
            { ...of, rule, id, variantId },
            { ...context, needsEffect: true },
          ),
        ({ rules }) => partialShareInWords(rules.find((part) => part.id === rule)?.distributions ?? []),
      )
    },
  })
}
