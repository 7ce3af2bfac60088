import { invalid, refuse } from '../../base/errors.ts'
import { flag } from '../../commands/flag/flag.ts'
import { Nothing } from '../../contract/answer.ts'
import {
  newRollout,
  Rollout,
  RolloutList,
  rolloutOrder,
  rolloutPart,
  rolloutUpdate,
} from '../../contract/flags/rollout.ts'
import { eachOnce, partOf } from '../../contract/flags/rule.ts'
import { momentText } from '../../contract/readers/moment.ts'
import { paged, single } from '../../contract/resource.ts'
import type { FlagDoc, RolloutDoc } from '../../projections/flags.ts'
import { flagAt, flagWriter, inPath, NAMESPACE, namespaceOf, newId } from '../commands/resource-routes.ts'
import { byRank, pageOf } from '../lists/paging.ts'
import { rolloutJson } from '../present/flag.ts'
import { allRoutes, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { FlagMount } from '../services/flags.ts'
import { ok, revised } from '../wire/reply.ts'

const reading = { ...ordinary, access: inPath('flag.read'), tag: 'Rollouts' } as const
const changing = { ...reading, access: inPath('flag.update'), writes: 'unless-read-only' } as const
const LIST = `${NAMESPACE}/flags/:flagKey/rollouts`
const ONE = `${LIST}/:id`
const shown = (id: string) => (doc: FlagDoc) => rolloutJson(doc, partOf(doc.rollouts, id))

const listRollouts: FlagMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: LIST,
    ...reading,
    summary: 'List the rollouts of a flag, ordered by rank. The answer contains the same list in two fields.',
    query: paged,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: RolloutList,
    run: async (call) => {
      const { query, params } = call
      const row = await flagAt(service, call)
      const scope = ['rollouts', namespaceOf(call), params['flagKey'], momentText(query.at)]
      const page = await pageOf(call, service, scope, row?.doc.rollouts ?? [], query, byRank, {
        names: ['rules', 'rollouts'],
        load: (items) => items,
        show: (rollout: RolloutDoc) => rolloutJson(row!.doc, rollout),
      })
      return revised(page, row?.changes)
    },
  })

const createRollout: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondWith } = flagWriter(service)
  route(app, {
    method: 'POST',
    url: LIST,
    ...changing,
    summary: 'Create a rollout, which gives a value to a percentage of the entities or to the entities of segments.',
    errors: ['not_found', 'rank_taken', 'quota_exceeded', 'revision_moved'],
    body: newRollout,
    answer: Rollout,
    run: (call) => {
      const { rank, description } = call.body
      const part = rolloutPart(call.body, () => refuse('invalid_argument', 'rollout rule is missing'))
      const id = newId(call, 'rollout')
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => reservations.addRollout({ ...of, id, rank, description, part }, context),
        shown(id),
      )
    },
  })
}

const orderRollouts: FlagMount = (app, service) => {
  const { execute } = service
  const { respondRevision } = flagWriter(service)
  route(app, {
    method: 'PUT',
    url: `${LIST}/order`,
    ...changing,
    summary:
      'Reorder the rollouts of a flag. Rollouts that the request does not name keep their order and follow the named ones.',
    errors: ['not_found', 'revision_moved'],
    body: rolloutOrder,
    answer: Nothing,
    run: (call) => {
      const ids = eachOnce(call.body.rolloutIds, 'rolloutIds')
      return respondRevision(call, call.params['flagKey']!, (of, context) =>
        execute(flag, `${of.namespace}+${of.key}`, 'OrderRollouts', { ...of, ids }, context),
      )
    },
  })
}

const getRollout: FlagMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: ONE,
    ...reading,
    summary: 'Get a rollout, with the revision of its flag.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Rollout,
    run: async (call) => {
      const id = call.params['id']!
      const row = await flagAt(service, call)
      const rollout = row?.doc.rollouts.find((part) => part.id === id)
      return row && rollout
        ? ok(rolloutJson(row.doc, rollout), row.changes)
        : refuse('not_found', `rollout "${namespaceOf(call)}/${id}" not found`)
    },
  })

const updateRollout: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondWith } = flagWriter(service)
  route(app, {
    method: 'PUT',
    url: ONE,
    ...changing,
    summary: 'Replace the fields of a rollout. Its type and rank do not change.',
    errors: ['not_found', 'type_change', 'quota_exceeded', 'revision_moved'],
    body: rolloutUpdate,
    answer: Rollout,
    run: (call) => {
      const id = call.params['id']!
      const { description } = call.body
      const part = rolloutPart(call.body, () => invalid('rule', 'invalid rollout rule type'))
      return respondWith(
        call,
        call.params['flagKey']!,
        (of, context) => reservations.updateRollout({ ...of, id, description, part }, context),
        shown(id),
      )
    },
  })
}

const deleteRollout: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondRevision } = flagWriter(service)
  route(app, {
    method: 'DELETE',
    url: ONE,
    ...changing,
    summary: 'Delete a rollout. The ranks of the later rollouts decrease by one.',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondRevision(call, call.params['flagKey']!, (of, context) =>
        reservations.removeRollout({ ...of, id: call.params['id']! }, { ...context, needsEffect: true }),
      ),
  })
}

/** Rollouts of boolean flags (api.md §7); only under a namespace. */
export const rolloutsRoutes = allRoutes(
  listRollouts,
  createRollout,
  orderRollouts,
  getRollout,
  updateRollout,
  deleteRollout,
)
