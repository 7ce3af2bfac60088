import { EVERYWHERE } from '../../access/grants.ts'
import { rightsAt } from '../../access/reach.ts'
import { bitOf } from '../../access/rights.ts'
import { refuse } from '../../base/errors.ts'
import { namespace } from '../../commands/namespace.ts'
import { Nothing } from '../../contract/answer.ts'
import { member } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import {
  ListedNamespace,
  Namespace,
  NamespaceList,
  namespaceDeletion,
  namespaceQuery,
  namespaceUpdate,
  newNamespace,
  singleWithUsage,
} from '../../contract/resource.ts'
import type { NamespaceDoc } from '../../projections/resource-model.ts'
import { createsOnly } from '../commands/command-context.ts'
import { inPath, NAMESPACE, namespaceOf, namespaceWriter, newId, viewOf } from '../commands/resource-routes.ts'
import { snapshotHours } from '../lists/last-evaluation.ts'
import { type Looked, listPage } from '../lists/list-page.ts'
import { lastChanges } from '../present/last-change.ts'
import { namespaceJson } from '../present/namespace.ts'
import { allRoutes, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { FlagMount, FlagService } from '../services/flags.ts'
import type { Caller } from '../wire/caller.ts'
import { ok } from '../wire/reply.ts'

/**
 * A namespace with its last change, its numbers of flags and segments, and the hour in which its snapshot was last
 * fetched. `prepare` reads the hours of the next namespaces.
 */
const namespaceUsage = (service: FlagService) => {
  const lastChange = lastChanges(service)
  let hourOf: (doc: NamespaceDoc) => string | undefined = () => undefined
  const prepare = async (view: Looked, docs: readonly NamespaceDoc[]): Promise<void> => {
    hourOf = await snapshotHours(service, view, docs)
  }
  const show =
    (view: Looked) =>
    async (doc: NamespaceDoc): Promise<ListedNamespace> => {
      const { flags, segments } =
        'tally' in view
          ? view.tally(doc.key)
          : { flags: (await view.flags(doc.key)).length, segments: (await view.segments(doc.key)).length }
      const snapshotFetchedAt = hourOf(doc)
      return {
        ...namespaceJson(doc),
        ...(await lastChange(doc)),
        flagCount: flags,
        segmentCount: segments,
        ...(snapshotFetchedAt !== undefined && { snapshotFetchedAt }),
      }
    }
  return { prepare, show }
}

const tag = 'Namespaces'

const READ = bitOf('namespace.read')
const PAST = bitOf('history.read')

/** Filter of the namespaces that a caller sees; with `past` it also requires `history.read`. Undefined: all. */
const seenBy = ({ reach }: Caller, past: boolean): ((doc: NamespaceDoc) => boolean) | undefined => {
  const bits = past ? READ | PAST : READ
  const sees = (key: string) => (rightsAt(reach!, key) & bits) === bits
  return reach === undefined || sees(EVERYWHERE) ? undefined : ({ key }) => sees(key)
}

const listNamespaces: FlagMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/api/v1/namespaces',
    ...ordinary,
    access: { credential: 'management', namespace: 'some', right: 'namespace.read' },
    tag,
    summary: 'List namespaces, oldest first. By default the answer contains all namespaces.',
    query: namespaceQuery,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: NamespaceList,
    run: (call) =>
      listPage(service, call, 'namespaces', '', {
        keep: seenBy(call.caller, call.query.at !== undefined),
        ...(call.query.include === 'usage' ? namespaceUsage(service) : { show: () => namespaceJson }),
      }),
  })

const keyIn = (body: Raw): string => {
  const key = member(body, 'key')
  return typeof key === 'string' ? key : ''
}

const createNamespace: FlagMount = (app, service) => {
  const { execute, flagStore } = service
  const { respondWith } = namespaceWriter(service)
  route(app, {
    method: 'POST',
    url: '/api/v1/namespaces',
    ...ordinary,
    access: {
      credential: 'management',
      namespace: 'none',
      right: 'namespace.create',
      changes: (_, body) => keyIn(body),
    },
    tag,
    summary: 'Create a namespace.',
    writes: 'unless-read-only',
    errors: ['not_unique', 'quota_exceeded', 'revision_moved'],
    body: newNamespace,
    answer: Namespace,
    run: (call) => {
      const { body } = call
      return respondWith(
        call,
        body.key,
        async (_, context) => {
          createsOnly(context, flagStore.namespace(body.key)?.changes)
          const incarnation = newId(call, 'incarnation')
          return execute(namespace, body.key, 'CreateNamespace', { ...body, incarnation, protected: false }, context)
        },
        namespaceJson,
      )
    },
  })
}

const getNamespace: FlagMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: NAMESPACE,
    ...ordinary,
    access: inPath('namespace.read'),
    tag,
    summary: 'Get a namespace.',
    query: singleWithUsage,
    errors: ['not_found', 'invalid_at'],
    answer: ListedNamespace,
    run: async (call) => {
      const key = namespaceOf(call)
      const view = await viewOf(service, call)
      const { doc, changes } = (await view.namespace(key)) ?? refuse('not_found', `namespace "${key}" not found`)
      if (call.query.include !== 'usage') return ok(namespaceJson(doc), changes)
      const { prepare, show } = namespaceUsage(service)
      await prepare(view, [doc])
      return ok(await show(view)(doc), changes)
    },
  })

const updateNamespace: FlagMount = (app, service) => {
  const { execute } = service
  const { respondWith } = namespaceWriter(service)
  route(app, {
    method: 'PUT',
    url: NAMESPACE,
    ...ordinary,
    access: inPath('namespace.update'),
    tag,
    summary: 'Replace name and description of a namespace.',
    writes: 'unless-read-only',
    errors: ['not_found', 'revision_moved'],
    body: namespaceUpdate,
    answer: Namespace,
    run: (call) => {
      const key = namespaceOf(call)
      return respondWith(
        call,
        key,
        (_, context) => execute(namespace, key, 'UpdateNamespace', { key, ...call.body }, context),
        namespaceJson,
      )
    },
  })
}

const deleteNamespace: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondEmpty } = namespaceWriter(service)
  route(app, {
    method: 'DELETE',
    url: NAMESPACE,
    ...ordinary,
    access: {
      credential: 'management',
      namespace: 'none',
      right: 'namespace.delete',
      changes: ({ namespaceKey }) => namespaceKey!,
    },
    tag,
    summary:
      'Delete a namespace. With force=true its flags and segments are deleted too; otherwise it must have no flags.',
    writes: 'unless-read-only',
    errors: ['not_found', 'protected', 'not_empty', 'revision_moved'],
    query: namespaceDeletion,
    answer: Nothing,
    run: (call) => {
      const key = namespaceOf(call)
      return respondEmpty(call, key, (_, context) =>
        reservations.deleteNamespace({ key, force: call.query.force }, context),
      )
    },
  })
}

/** Namespaces (api.md §7.1). A token limited to a namespace can only read and update this namespace. */
export const namespacesRoutes = allRoutes(
  listNamespaces,
  createNamespace,
  getNamespace,
  updateNamespace,
  deleteNamespace,
)
