import { Nothing } from '../../contract/answer.ts'
import { Flag, FlagList, flagUpdate, newFlag } from '../../contract/flag.ts'
import { paged, single } from '../../contract/resource.ts'
import { flag } from '../../commands/flag/flag.ts'
import { noFlag } from '../../commands/flag/state.ts'
import { refuse } from '../../errors.ts'
import { ok } from '../wire/reply.ts'
import { flagJson } from '../present/flag.ts'
import { createsOnly, flagWriter, namespacedRoute, namespaceOf, listPage, viewOf } from '../resource-routes.ts'
import type { Mount } from '../service.ts'

const tag = 'Flags'

const listFlags: Mount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags',
    tag,
    summary: 'List the flags of a namespace, oldest first.',
    query: paged,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: FlagList,
    run: (call) => listPage(service, call, 'flags', namespaceOf(call), flagJson),
  })

const createFlag: Mount = (app, service) => {
  const { reservations, flagStore } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/flags',
    tag,
    summary: 'Create a flag.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: newFlag,
    answer: Flag,
    run: (call) => {
      const { body } = call
      const { key, metadata = {} } = body
      return respondWith(
        call,
        key,
        async ({ namespace, incarnation }, context) => {
          if (incarnation === '') refuse('not_found', `namespace "${namespace}" not found`)
          createsOnly(context, flagStore.flag(namespace, key)?.changes)
          return reservations.createFlag({ ...body, namespace, metadata }, context)
        },
        flagJson,
      )
    },
  })
}

const getFlag: Mount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:key',
    tag,
    summary: 'Get a flag with its variants.',
    query: single,
    errors: ['not_found', 'invalid_at'],
    answer: Flag,
    run: async (call) => {
      const [namespace, key] = [namespaceOf(call), call.params['key']!]
      const row = await (await viewOf(service, call)).flag(namespace, key)
      return row ? ok(flagJson(row.doc), row.changes) : noFlag({ namespace, key, incarnation: '' })
    },
  })

const updateFlag: Mount = (app, service) => {
  const { execute } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:key',
    tag,
    summary: 'Replace a flag; its metadata is kept where none is given.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: flagUpdate,
    answer: Flag,
    run: (call) =>
      respondWith(
        call,
        call.params['key']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'UpdateFlag', { ...of, ...call.body }, context),
        flagJson,
      ),
  })
}

const deleteFlag: Mount = (app, service) => {
  const { reservations } = service
  const { respondEmpty } = flagWriter(service)
  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:key',
    tag,
    summary: 'Delete a flag with its variants, rules and rollouts.',
    writes: 'unless-read-only',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondEmpty(call, call.params['key']!, (of, context) =>
        reservations.deleteFlag(of, { ...context, needsEffect: true }),
      ),
  })
}

/** Flags (api.md §7). Their variants, rules and rollouts have routes of their own. */
export const flagsRoutes: Mount = (app, service) => {
  listFlags(app, service)
  createFlag(app, service)
  getFlag(app, service)
  updateFlag(app, service)
  deleteFlag(app, service)
}
