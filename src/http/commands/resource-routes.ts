import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { Right } from '../../access/rights.ts'
import { type Moment, rowNow } from '../../as-of/as-of.ts'
import { revisionMoved } from '../../commands/decide.ts'
import { type Context, idFrom } from '../../commands/envelope.ts'
import type { Nothing, Shown } from '../../contract/answer.ts'
import { refuse } from '../../errors.ts'
import type { AnyEvent } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { foldRow } from '../../projections/engine/fold-rows.ts'
import type { Live } from '../../projections/flag-memory/flag-store.ts'
import { flags } from '../../projections/flags.ts'
import { namespaces } from '../../projections/namespaces.ts'
import { lastKnown, type Projection, readable } from '../../projections/projection.ts'
import { segments } from '../../projections/segments.ts'
import { snapshotAt } from '../as-of-readings.ts'
import { type Call, type RouteOptions, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { CommandServices } from '../services/commands.ts'
import type { ReadServices } from '../services/reads.ts'
import { type Answer, ok } from '../wire/reply.ts'
import { takeRoom } from '../wire/room.ts'
import { applyEvents, contextOf } from './command-context.ts'

type AnyCall = Call<unknown, unknown>
/** Target of a command on a flag or segment, with the incarnation of its namespace (`''` if it does not exist). */
type Of = { readonly namespace: string; readonly key: string; readonly incarnation: string }

/** Path of one namespace. */
export const NAMESPACE = '/api/v1/namespaces/:namespaceKey'

/** Access with the right in the namespace of the path. */
export const inPath = (right: Right) =>
  ({ credential: 'management', namespace: { param: 'namespaceKey' }, right }) as const

/** Mounts a route of the flag API under its namespace and, for `default`, directly under /api/v1 (api.md §7.1). */
export const namespacedRoute = <A extends TSchema, B = undefined, Q = undefined>(
  app: FastifyInstance,
  { right, ...options }: Omit<RouteOptions<B, Q, A>, 'access' | keyof typeof ordinary> & { readonly right: Right },
): void => {
  const stated = { ...ordinary, ...options }
  route(app, { ...stated, url: NAMESPACE + options.url, access: inPath(right) })
  const access = { credential: 'management', namespace: 'default', right } as const
  route(app, { ...stated, url: `/api/v1${options.url}`, access })
}

/** Namespace of the path. */
export const namespaceOf = ({ params }: AnyCall): string => params['namespaceKey'] ?? 'default'

type Reading = Call<unknown, { readonly at: Moment | undefined }>

/** State that a GET reads: the present, or the snapshot as of `at`. */
export const viewOf = (service: ReadServices, { query: { at }, request }: Reading) =>
  at ? snapshotAt(service, at, request) : service.flagStore

/**
 * Takes room for an answer that shows a flag or segment: twice its stored size plus the request body, because an answer
 * may contain its texts twice.
 */
export const takeDocument = (
  { flagStore }: Pick<ReadServices, 'flagStore'>,
  call: AnyCall,
  kind: 'flags' | 'segments',
  key: string,
): Promise<void> | undefined =>
  takeRoom(call, 2 * (flagStore.bytes(kind, namespaceOf(call), key) + (call.request.bytes?.length ?? 0)))

/** Row of the flag in the path, in the state that the GET reads; undefined if there is none. */
export const flagAt = async (service: ReadServices, call: Reading) =>
  (await viewOf(service, call)).flag(namespaceOf(call), call.params['flagKey']!)

/** Id of a new part; a repeated command yields the same id. */
export const newId = ({ request }: AnyCall, word: string): string => {
  const { commandId } = request.directives
  return commandId === undefined ? randomUUID() : idFrom(commandId, word)
}

/**
 * Refuses a create with If-Match, because no revision can match (api.md §4). `have` is the revision of an existing
 * resource.
 */
export const createsOnly = ({ ifMatch }: Context, have = 0n): void => {
  if (ifMatch !== undefined) revisionMoved(have, ifMatch)
}

/**
 * Incarnation of a namespace, `''` if it does not exist. On a miss in memory it reads the log, because memory may be
 * behind another instance.
 */
const incarnationOf = async ({ flagStore, log }: CommandServices & ReadServices, namespace: string): Promise<string> =>
  flagStore.life(namespace) ?? lastKnown(await rowNow(log, namespaces, namespace))?.incarnation ?? ''

type Written = { readonly stored: readonly Stored[] }
/** Outcome of a command on a part: the state of its flag or segment, and the revision. */
type Whole = Written & { readonly revision: bigint; readonly state: { readonly incarnation: string | undefined } }

/** Row after the command; its ETag is the revision of the returned body, even after later writes of others. */
const rowAfter = async <D extends object, E extends AnyEvent>(
  { log, clock }: CommandServices,
  projection: Projection<D, E>,
  id: string,
  { stored }: Written,
  held: Live<D> | undefined,
): Promise<Live<D>> => {
  const own = stored.findLast(({ stream }) => stream === `${projection.category}-${id}`)
  if (held && (own === undefined || own.revision === held.revision)) return held
  const row = own ? await foldRow({ log, clock }, projection, [own], undefined) : await rowNow(log, projection, id)
  return readable(row)?.doc === undefined ? refuse('write_conflict') : (row as Live<D>)
}

/** Runs commands on one kind of aggregate and builds the answers. */
const writer =
  <D extends object, E extends AnyEvent>(
    projection: Projection<D, E>,
    idOf: (namespace: string, key: string) => string,
    held: (service: CommandServices & ReadServices, namespace: string, key: string) => Live<D> | undefined,
    take: (service: CommandServices & ReadServices, call: AnyCall, key: string) => Promise<void> | undefined,
  ) =>
  (service: CommandServices & ReadServices) => {
    const run = async <W extends Written>(
      call: AnyCall,
      key: string,
      work: (of: Of, context: Context) => Promise<W>,
    ) => {
      const namespace = namespaceOf(call)
      const incarnation = await incarnationOf(service, namespace)
      return work({ namespace, key, incarnation }, contextOf(call, service))
    }
    return {
      /** Runs a command and answers with the resulting document, or the part selected by `show`. */
      respondWith: async <T>(
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Written>,
        show: (doc: D) => T,
      ): Promise<Answer<T>> => {
        await take(service, call, key)
        const written = await run(call, key, work)
        const { headers } = await applyEvents(service, written.stored)
        const namespace = namespaceOf(call)
        const { doc, changes } = await rowAfter(
          service,
          projection,
          idOf(namespace, key),
          written,
          held(service, namespace, key),
        )
        return ok(show(doc), changes, headers)
      },
      /** Runs a command with an empty answer. */
      respondEmpty: async (
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Written>,
      ): Promise<Answer<Shown<typeof Nothing>>> => {
        const { stored } = await run(call, key, work)
        const { headers } = await applyEvents(service, stored)
        return ok({}, undefined, headers)
      },
      /**
       * Runs a command on a part; the answer is empty, with the revision of its flag or segment if that still exists.
       */
      respondRevision: async (
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Whole>,
      ): Promise<Answer<Shown<typeof Nothing>>> => {
        const { stored, revision, there } = await run(call, key, async (of, context) => {
          const { state, ...outcome } = await work(of, context)
          return { ...outcome, there: state.incarnation === of.incarnation }
        })
        const { headers } = await applyEvents(service, stored)
        return ok({}, there ? revision : undefined, headers)
      },
    }
  }

const inNamespace = (namespace: string, key: string) => `${namespace}+${key}`

export const flagWriter = writer(
  flags,
  inNamespace,
  ({ flagStore }, namespace, key) => flagStore.flag(namespace, key),
  (service, call, key) => takeDocument(service, call, 'flags', key),
)
export const segmentWriter = writer(
  segments,
  inNamespace,
  ({ flagStore }, namespace, key) => flagStore.segment(namespace, key),
  (service, call, key) => takeDocument(service, call, 'segments', key),
)
export const namespaceWriter = writer(
  namespaces,
  (_, key) => key,
  ({ flagStore }, _, key) => flagStore.namespace(key),
  (_, call) => takeRoom(call, 2 * (call.request.bytes?.length ?? 0)),
)
