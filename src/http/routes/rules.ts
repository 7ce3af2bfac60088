import type { FastifyInstance } from 'fastify'
import { Nothing } from '../../contract/answer.ts'
import { paged, single } from '../../contract/resource.ts'
import { newRule, Rule, RuleList, ruleOrder, ruleUpdate } from '../../contract/rule.ts'
import { flag } from '../../commands/flag/flag.ts'
import { refuse } from '../../errors.ts'
import { ok } from '../wire/reply.ts'
import type { RuleDoc } from '../../projections/flags.ts'
import { ruleJson } from '../present/flag.ts'
import { flagWriter, namespacedRoute, namespaceOf, newId, viewOf } from '../resource-routes.ts'
import { byRank, pageOf } from '../paging.ts'
import { eachOnce, partOf, segmentsGiven } from '../../contract/rule-fields.ts'
import type { Service } from '../service.ts'

const tag = 'Rules'

/** Rules of variant flags (api.md §7); their distributions have routes of their own. */
export const rulesRoutes = (app: FastifyInstance, service: Service): void => {
  const { execute, reservations } = service
  const { respondWith, respondEmpty } = flagWriter(service)

  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:flagKey/rules',
    tag,
    summary: 'List the rules of a flag by rank.',
    query: paged,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: RuleList,
    run: async (call) => {
      const { query, params } = call
      const [namespace, key] = [namespaceOf(call), params['flagKey']!]
      const row = await (await viewOf(service, query.at)).flag(namespace, key)
      return pageOf(service, ['rules', namespace, key, query.at], row?.doc.rules ?? [], query, byRank, {
        names: ['rules'],
        show: (rule: RuleDoc) => ruleJson(row!.doc, rule),
      })
    },
  })

  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:flagKey/rules',
    tag,
    summary: 'Create a rule.',
    writes: 'unless-read-only',
    errors: ['not_found', 'rank_taken', 'quota_exceeded', 'revision_moved'],
    body: newRule,
    answer: Rule,
    run: (call) => {
      const { rank } = call.body
      const rule = { id: newId(call, 'rule'), ...segmentsGiven(call.body) }
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => reservations.addRule({ ...of, ...rule, rank }, context),
        (doc) => ruleJson(doc, partOf(doc.rules, rule.id)),
      )
    },
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/rules/order',
    tag,
    summary: 'Put rules in order; those not named follow as they stand.',
    writes: 'unless-read-only',
    errors: ['not_found', 'revision_moved'],
    body: ruleOrder,
    answer: Nothing,
    run: (call) => {
      const ids = eachOnce(call.body.ruleIds, 'ruleIds')
      return respondEmpty(call, call.params['flagKey']!, (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, 'OrderRules', { ...of, ids }, context),
      )
    },
  })

  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:flagKey/rules/:id',
    tag,
    summary: 'Get a rule, with the revision of its flag.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Rule,
    run: async (call) => {
      const { query, params } = call
      const [namespace, id] = [namespaceOf(call), params['id']!]
      const row = await (await viewOf(service, query.at)).flag(namespace, params['flagKey']!)
      const rule = row?.doc.rules.find((part) => part.id === id)
      return row && rule
        ? ok(ruleJson(row.doc, rule), row.changes)
        : refuse('not_found', `rule "${namespace}/${id}" not found`)
    },
  })

  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/rules/:id',
    tag,
    summary: 'Replace the segments of a rule; its rank and distributions stay.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: ruleUpdate,
    answer: Rule,
    run: (call) => {
      const rule = { id: call.params['id']!, ...segmentsGiven(call.body) }
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => reservations.updateRule({ ...of, ...rule }, context),
        (doc) => ruleJson(doc, partOf(doc.rules, rule.id)),
      )
    },
  })

  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/rules/:id',
    tag,
    summary: 'Delete a rule; the others close ranks.',
    writes: 'unless-read-only',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondEmpty(call, call.params['flagKey']!, (of, context) =>
        reservations.removeRule({ ...of, id: call.params['id']! }, { ...context, needsEffect: true }),
      ),
  })
}
