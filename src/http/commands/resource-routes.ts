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
/** What a command on a flag or segment names: it, and the present life of its namespace (`''`: there is none). */
type Of = { readonly namespace: string; readonly key: string; readonly incarnation: string }

/** Path of one namespace. */
export const NAMESPACE = '/api/v1/namespaces/:namespaceKey'

/** Access to what belongs to the namespace in the path, for whoever has the right there. */
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

/** The namespace that a path means. */
export const namespaceOf = ({ params }: AnyCall): string => params['namespaceKey'] ?? 'default'

type Reading = Call<unknown, { readonly at: Moment | undefined }>

/** Where a GET looks: at the present, or at the moment that `at` names. */
export const viewOf = (service: ReadServices, { query: { at }, request }: Reading) =>
  at ? snapshotAt(service, at, request) : service.flagStore

/** Takes room for an answer that shows a flag or a segment, which may say its texts twice, as it is or once the body is part of it. */
export const takeDocument = (
  { flagStore }: Pick<ReadServices, 'flagStore'>,
  call: AnyCall,
  kind: 'flags' | 'segments',
  key: string,
): Promise<void> | undefined =>
  takeRoom(call, 2 * (flagStore.bytes(kind, namespaceOf(call), key) + (call.request.bytes?.length ?? 0)))

/** The row of the flag that the path names, where the GET looks; undefined where there is none. */
export const flagAt = async (service: ReadServices, call: Reading) =>
  (await viewOf(service, call)).flag(namespaceOf(call), call.params['flagKey']!)

/** Id of a new part, the same for the same command. */
export const newId = ({ request }: AnyCall, word: string): string => {
  const { commandId } = request.directives
  return commandId === undefined ? randomUUID() : idFrom(commandId, word)
}

/** Refuses a create that carries If-Match: it means nothing that could match (api.md §4). `have` is the revision of what stands there. */
export const createsOnly = ({ ifMatch }: Context, have = 0n): void => {
  if (ifMatch !== undefined) revisionMoved(have, ifMatch)
}

/** The present life of a namespace, `''` where there is none. Memory may be behind another instance, so a miss asks the log. */
const incarnationOf = async ({ flagStore, log }: CommandServices & ReadServices, namespace: string): Promise<string> =>
  flagStore.life(namespace) ?? lastKnown(await rowNow(log, namespaces, namespace))?.incarnation ?? ''

type Written = { readonly stored: readonly Stored[] }
/** What a command on a part leaves: the whole that the part is of, and its revision. */
type Whole = Written & { readonly revision: bigint; readonly state: { readonly incarnation: string | undefined } }

/** The row as the command left it: its ETag is the revision that the body shows, whoever wrote since. */
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

/** Commands on one kind of aggregate, and what is answered to them. */
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
      /** Runs a command and answers with what it left, or the part of it that `show` picks. */
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
      /** Runs a command that leaves nothing to show. */
      respondEmpty: async (
        call: AnyCall,
        key: string,
        work: (of: Of, context: Context) => Promise<Written>,
      ): Promise<Answer<Shown<typeof Nothing>>> => {
        const { stored } = await run(call, key, work)
        const { headers } = await applyEvents(service, stored)
        return ok({}, undefined, headers)
      },
      /** Runs a command on a part that leaves nothing to show but the revision of the whole, where that is there. */
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
