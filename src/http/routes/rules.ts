import { refuse } from '../../base/errors.ts'
import { flag } from '../../commands/flag/flag.ts'
import { Nothing } from '../../contract/answer.ts'
import {
  eachOnce,
  newRule,
  partOf,
  Rule,
  RuleList,
  ruleOrder,
  ruleUpdate,
  segmentsGiven,
} from '../../contract/flags/rule.ts'
import { momentText } from '../../contract/readers/moment.ts'
import { paged, single } from '../../contract/resource.ts'
import type { FlagDoc, RuleDoc } from '../../projections/flags.ts'
import { flagAt, flagWriter, namespacedRoute, namespaceOf, newId } from '../commands/resource-routes.ts'
import { byRank, pageOf } from '../lists/paging.ts'
import { ruleJson } from '../present/flag.ts'
import { allRoutes } from '../route/route.ts'
import type { FlagMount } from '../services/flags.ts'
import { ok, revised } from '../wire/reply.ts'

const tag = 'Rules'
const changing = { tag, right: 'flag.update', writes: 'unless-read-only' } as const
const shown = (id: string) => (doc: FlagDoc) => ruleJson(doc, partOf(doc.rules, id))

const listRules: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:flagKey/rules',
    tag,
    right: 'flag.read',
    summary: 'List the rules of a flag, ordered by rank.',
    query: paged,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: RuleList,
    run: async (call) => {
      const { query, params } = call
      const row = await flagAt(service, call)
      const scope = ['rules', namespaceOf(call), params['flagKey'], momentText(query.at)]
      const page = await pageOf(call, service, scope, row?.doc.rules ?? [], query, byRank, {
        names: ['rules'],
        load: (items) => items,
        show: (rule: RuleDoc) => ruleJson(row!.doc, rule),
      })
      return revised(page, row?.changes)
    },
  })

const createRule: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:flagKey/rules',
    ...changing,
    summary: 'Create a rule.',
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
        shown(rule.id),
      )
    },
  })
}

const orderRules: FlagMount = (app, service) => {
  const { execute } = service
  const { respondRevision } = flagWriter(service)
  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/rules/order',
    ...changing,
    summary:
      'Reorder the rules of a flag. Rules that the request does not name keep their order and follow the named ones.',
    errors: ['not_found', 'revision_moved'],
    body: ruleOrder,
    answer: Nothing,
    run: (call) => {
      const ids = eachOnce(call.body.ruleIds, 'ruleIds')
      return respondRevision(call, call.params['flagKey']!, (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, 'OrderRules', { ...of, ids }, context),
      )
    },
  })
}

const getRule: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:flagKey/rules/:id',
    tag,
    right: 'flag.read',
    summary: 'Get a rule, with the revision of its flag.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Rule,
    run: async (call) => {
      const id = call.params['id']!
      const row = await flagAt(service, call)
      const rule = row?.doc.rules.find((part) => part.id === id)
      return row && rule
        ? ok(ruleJson(row.doc, rule), row.changes)
        : refuse('not_found', `rule "${namespaceOf(call)}/${id}" not found`)
    },
  })

const updateRule: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:flagKey/rules/:id',
    ...changing,
    summary: 'Replace the segments of a rule. Its rank and distributions do not change.',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: ruleUpdate,
    answer: Rule,
    run: (call) => {
      const rule = { id: call.params['id']!, ...segmentsGiven(call.body) }
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => reservations.updateRule({ ...of, ...rule }, context),
        shown(rule.id),
      )
    },
  })
}

const deleteRule: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondRevision } = flagWriter(service)
  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:flagKey/rules/:id',
    ...changing,
    summary: 'Delete a rule. The ranks of the later rules decrease by one.',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondRevision(call, call.params['flagKey']!, (of, context) =>
        reservations.removeRule({ ...of, id: call.params['id']! }, { ...context, needsEffect: true }),
      ),
  })
}

/** Rules of variant flags (api.md §7); distributions have their own routes. */
export const rulesRoutes = allRoutes(listRules, createRule, orderRules, getRule, updateRule, deleteRule)
