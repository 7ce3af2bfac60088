import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Moment } from '../../as-of/as-of.ts'
import { member } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import { refuse } from '../../errors.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import { snapshotAt } from '../as-of-readings.ts'
import type { Call } from '../route/route.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { ReadServices } from '../services/reads.ts'
import type { Caller } from '../wire/caller.ts'
import type { Flags } from './evaluator.ts'

/** Bytes that an answer of many parts may have: fewer for a token that may be published. */
export const mostBytesFor = ({ settings }: Pick<InstanceServices, 'settings'>, { published }: Caller): number =>
  published ? Math.min(settings.publishedMostBytes, settings.mostBytes) : settings.mostBytes

/** The namespace that a key means: `""` is `default`. */
export const namespaceOrDefault = (namespaceKey: string): string => namespaceKey || 'default'

/** A text member of a body before its field rules; its reader has refused one that is no text. */
const textIn = (raw: Raw, name: string, other: string): string => {
  const value = member(raw, name, other)
  return typeof value === 'string' ? value : ''
}

/** The namespace key that a body names. */
export const namespaceIn = (raw: Raw): string => textIn(raw, 'namespaceKey', 'namespace_key')

/** The evaluations within a body. */
export const requestsIn = (raw: Raw): readonly Raw[] => {
  const given = member(raw, 'requests')
  return Array.isArray(given) ? given.map((one: Raw | null) => one ?? {}) : []
}

/** The namespace that the body of one evaluation asks in (api.md §3.3). */
export const namespaceAsked = (body: Raw): string => namespaceOrDefault(namespaceIn(body))

const newId = ({ id, headers }: FastifyRequest): string => (headers['x-request-id'] === id ? randomUUID() : id)

/** The evaluation's id: the client's, else a new UUID, which is the request's own where that is new too. */
export const requestIdOf = (given: string, request: FastifyRequest): string => given || newId(request)

/** The same as JSON. */
export const requestIdJson = (given: string, request: FastifyRequest): string =>
  given ? JSON.stringify(given) : `"${newId(request)}"`

/** Refuses to go on for a client that has left: nobody would take the answer. */
export const insistOnClient = ({ raw: { socket } }: FastifyRequest): void => {
  if (socket.destroyed) refuse('cancelled')
}

/** What a promise came to, to be taken later: one flag that cannot be read fails no other. */
const settled = <T>(work: Promise<T>): Promise<() => T> =>
  work.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error
    },
  )

/** Answers from the flags of the present, or from those of the moment that `at` names: of these, only the ones asked for are made. */
export const withFlags = <T>(
  service: ReadServices,
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
