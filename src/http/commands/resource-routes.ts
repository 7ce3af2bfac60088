import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { Right } from '../../access/rights.ts'
import { type Moment, rowNow } from '../../as-of/as-of.ts'
import { refuse } from '../../base/errors.ts'
import { type Context, idFrom } from '../../commands/envelope.ts'
import type { Nothing, Shown } from '../../contract/answer.ts'
import type { AnyEvent } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { flags } from '../../projections/flags.ts'
import { lastKnown, type Projection, readable } from '../../projections/projection.ts'
import { namespaces, segments } from '../../projections/resource-model.ts'
import type { Row } from '../../projections/views.ts'
import { takeRoom } from '../memory/room.ts'
import { type Call, type RouteOptions, route } from '../route/route.ts'
import { type Guarded, ordinary } from '../route/statements.ts'
import type { FlagService, FlagServices } from '../services/flags.ts'
import { snapshotAt } from '../steps/as-of-readings.ts'
import { type Answer, ok, warned } from '../wire/reply.ts'
import { applyEvents, contextOf } from './command-context.ts'
import { type Rehearsed, rehearsedRows } from './dry-run.ts'

type AnyCall = Call<unknown, unknown>
/** Target of a command on a flag or segment, with the incarnation of its namespace (`''` if it does not exist). */
type Of = { readonly namespace: string; readonly key: string; readonly incarnation: string }

/** Path of one namespace. */
export const NAMESPACE = '/api/v1/namespaces/:namespaceKey'

/** Access with the right in the namespace of the path; `evaluates`: the right to evaluate in a dry run. */
export const inPath = (right: Right, evaluates?: Right) =>
  ({
    credential: 'management',
    namespace: { param: 'namespaceKey' },
    right,
    ...(evaluates && { evaluates }),
  }) as const

/** Mounts a route of the flag API under its namespace and, for `default`, directly under /api/v1 (api.md §7.1). */
export const namespacedRoute = <A extends TSchema, B = undefined, Q = undefined>(
  app: FastifyInstance,
  {
    right,
    evaluates,
    ...options
  }: Omit<RouteOptions<B, Q, A>, 'access' | keyof typeof ordinary> & Pick<Guarded, 'evaluates'> & { right: Right },
): void => {
  const stated = { ...ordinary, ...options }
  const access = inPath(right, evaluates)
  route(app, { ...stated, url: NAMESPACE + options.url, access })
  route(app, { ...stated, url: `/api/v1${options.url}`, access: { ...access, namespace: 'default' } })
}

/** Namespace of the path. */
export const namespaceOf = ({ params }: AnyCall): string => params['namespaceKey'] ?? 'default'

type Reading = Call<unknown, { readonly at: Moment | undefined }>

/** State that a GET reads: the present, or the snapshot as of `at`. */
export const viewOf = (service: FlagServices, { query: { at }, request }: Reading) =>
  at ? snapshotAt(service, at, request) : service.flagStore

/**
 * Reserves memory for an answer that shows a flag or segment: twice its stored size plus the request body, because an
 * answer may contain its texts twice.
 */
export const takeDocument = (
  { flagStore }: Pick<FlagServices, 'flagStore'>,
  call: AnyCall,
  kind: 'flags' | 'segments',
  key: string,
): Promise<void> | undefined =>
  takeRoom(call, 2 * (flagStore.bytes(kind, namespaceOf(call), key) + (call.request.bytes?.length ?? 0)))

/**
 * Row of the flag that the path names, in the state that the GET request reads; undefined if the flag does not exist in
 * this state.
 */
export const flagAt = async (service: FlagServices, call: Reading) =>
  (await viewOf(service, call)).flag(namespaceOf(call), call.params['flagKey']!)

/** Id of a new part; a repeated command yields the same id. */
export const newId = ({ request }: AnyCall, word: string): string => {
  const { commandId } = request.directives
  return commandId === undefined ? randomUUID() : idFrom(commandId, word)
}

/**
 * Incarnation of a namespace, `''` if it does not exist. On a miss in memory it reads the log, because memory may be
 * behind another instance.
 */
const incarnationOf = async ({ flagStore, log }: FlagService, namespace: string): Promise<string> =>
  flagStore.life(namespace) ?? lastKnown(await rowNow(log, namespaces, namespace))?.incarnation ?? ''

type Written = { readonly stored: readonly Stored[] }
/** Outcome of a command on a part: the state of its flag or segment, and the revision. */
type Whole<S> = Written & { readonly revision: bigint; readonly state: S }

/** Runs commands on one kind of aggregate and builds the answers. */
const writer =
  <D extends object, E extends AnyEvent>(
    projection: Projection<D, E>,
    idOf: (of: Of) => string,
    held: (service: FlagServices, of: Of) => Row<D> | undefined,
    take: (service: FlagServices, call: AnyCall, key: string) => Promise<void> | undefined,
  ) =>
  (service: FlagService) => {
    const target = async (call: AnyCall, key: string): Promise<Of> => {
      const namespace = namespaceOf(call)
      return { namespace, key, incarnation: await incarnationOf(service, namespace) }
    }
    return {
      /**
       * Runs a command and answers with the resulting document, or the part selected by `show`. The ETag is the
       * revision of this document, even if other requests have changed the resource since. A text of `warn` is sent in the
       * header `Warning`.
       */
      respondWith: async <T>(
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Written>,
        show: (doc: D) => T,
        warn?: (doc: D) => string | undefined,
      ): Promise<Answer<T>> => {
        await take(service, call, key)
        const of = await target(call, key)
        const { stored } = await work(of, contextOf(call, service))
        const { rows, headers } = await applyEvents(service, stored)
        const id = idOf(of)
        const row = rows(projection, id) ?? held(service, of) ?? (await rowNow(service.log, projection, id))
        const { doc, changes } = readable(row) ?? refuse('write_conflict')
        return ok(show(doc ?? refuse('write_conflict')), changes, { ...headers, ...warned(doc && warn?.(doc)) })
      },
      /** Rehearses a command and answers with the document before and after it; the ETag is the present revision. */
      respondRehearsed: async <T>(
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Rehearsed>,
        show: (present: D, next: D, revision: string) => T | Promise<T>,
        warn?: (next: D) => string | undefined,
      ): Promise<Answer<T>> => {
        await take(service, call, key)
        const of = await target(call, key)
        const outcome = await work(of, contextOf(call, service))
        const { present, next } = await rehearsedRows(service, projection, idOf(of), held(service, of), outcome)
        return ok(await show(present.doc, next, String(present.changes)), present.changes, warned(warn?.(next)))
      },
      /** Runs a command with an empty answer. */
      respondEmpty: async (
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Written>,
      ): Promise<Answer<Shown<typeof Nothing>>> => {
        const { stored } = await work(await target(call, key), contextOf(call, service))
        const { headers } = await applyEvents(service, stored)
        return ok({}, undefined, headers)
      },
      /**
       * Runs a command on a part; the answer is empty, with the revision of its flag or segment if that still exists.
       */
      respondRevision: async <S extends { readonly incarnation: string | undefined }>(
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Whole<S>>,
        warn?: (state: S) => string | undefined,
      ): Promise<Answer<Shown<typeof Nothing>>> => {
        const of = await target(call, key)
        const { stored, revision, state } = await work(of, contextOf(call, service))
        const { headers } = await applyEvents(service, stored)
        if (state.incarnation !== of.incarnation) return ok({}, undefined, headers)
        return ok({}, revision, { ...headers, ...warned(warn?.(state)) })
      },
    }
  }

const inNamespace = ({ namespace, key }: Of) => `${namespace}+${key}`

export const flagWriter = writer(
  flags,
  inNamespace,
  ({ flagStore }, { namespace, key }) => flagStore.flag(namespace, key),
  (service, call, key) => takeDocument(service, call, 'flags', key),
)
export const segmentWriter = writer(
  segments,
  inNamespace,
  ({ flagStore }, { namespace, key }) => flagStore.segment(namespace, key),
  (service, call, key) => takeDocument(service, call, 'segments', key),
)
export const namespaceWriter = writer(
  namespaces,
  ({ key }) => key,
  ({ flagStore }, { key }) => flagStore.namespace(key),
  (_, call) => takeRoom(call, 2 * (call.request.bytes?.length ?? 0)),
)
