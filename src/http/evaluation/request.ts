import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { allowed } from '../../access/reach.ts'
import { setOf } from '../../access/rights.ts'
import type { Moment } from '../../as-of/as-of.ts'
import { refuse } from '../../base/errors.ts'
import { member } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { Call } from '../route/route.ts'
import type { CommandServices } from '../services/commands.ts'
import type { FlagServices } from '../services/flags.ts'
import { snapshotAt } from '../steps/as-of-readings.ts'
import type { Caller } from '../wire/caller.ts'
import type { Flags } from './evaluator.ts'

const EITHER = setOf(['segment.read', 'flag.snapshot'])

/**
 * True if answers include segment names for a caller: only if the caller may read the segments of the namespace anyway
 * (api.md §3.6).
 */
export const showsSegments = ({ reach }: Caller, namespace: string): boolean =>
  reach === undefined || allowed(reach, EITHER, namespace)

/** Maximum size in bytes of an answer to this caller; publishable tokens have a lower maximum. */
export const mostBytesFor = ({ settings }: Pick<CommandServices, 'settings'>, { published }: Caller): number =>
  published ? Math.min(settings.publishedMostBytes, settings.mostBytes) : settings.mostBytes

/** Namespace of a key: `""` is `default`. */
export const namespaceOrDefault = (namespaceKey: string): string => namespaceKey || 'default'

/** Text field of a body, read before its field rules; `""` for another type, which the field rules refuse. */
const textIn = (raw: Raw, name: string, other: string): string => {
  const value = member(raw, name, other)
  return typeof value === 'string' ? value : ''
}

/** Namespace key in a body. */
export const namespaceIn = (raw: Raw): string => textIn(raw, 'namespaceKey', 'namespace_key')

/** Evaluations in a batch body. */
export const requestsIn = (raw: Raw): readonly Raw[] => {
  const given = member(raw, 'requests')
  return Array.isArray(given) ? given.map((one: Raw | null) => one ?? {}) : []
}

/** Namespace of the body of one evaluation (api.md §3.3). */
export const namespaceAsked = (body: Raw): string => namespaceOrDefault(namespaceIn(body))

const newId = ({ id, headers }: FastifyRequest): string => (headers['x-request-id'] === id ? randomUUID() : id)

/**
 * Id of an evaluation: the id in the request, or, if it has none, a new UUID. The request id serves as that UUID if the
 * service generated it.
 */
export const requestIdOf = (given: string, request: FastifyRequest): string => given || newId(request)

/** The id of the evaluation as JSON text. */
export const requestIdJson = (given: string, request: FastifyRequest): string =>
  given ? JSON.stringify(given) : `"${newId(request)}"`

/** Cancels the request if the client has disconnected. */
export const insistOnClient = ({ raw: { socket } }: FastifyRequest): void => {
  if (socket.destroyed) refuse('cancelled')
}

/** Captures the result or error of a promise, so that one unreadable flag does not fail a whole batch. */
const settled = <T>(work: Promise<T>): Promise<() => T> =>
  work.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error
    },
  )

/**
 * Answers from the present flags, or from the snapshot as of `at`. Of a snapshot, only the requested flags are
 * compiled.
 */
export const withFlags = <T>(
  service: Pick<FlagServices, 'flagStore' | 'asOf'>,
  { query: { at: moment }, request }: Call<unknown, { readonly at: Moment | undefined }>,
  wanted: () => Iterable<readonly [namespace: string, key: string]>,
  answer: (flags: Flags) => T | Promise<T>,
): T | Promise<T> => {
  if (!moment) return answer(service.flagStore)
  return snapshotAt(service, moment, request).then(async ({ compiled }) => {
    const known = new Map<string, () => Compiled | undefined>()
    for (const [namespace, key] of wanted()) {
      const flag = await settled(compiled(namespace, key))
      known.set(`${namespace}/${key}`, flag)
    }
    return answer({ compiled: (namespace, key) => known.get(`${namespace}/${key}`)?.() })
  })
}
