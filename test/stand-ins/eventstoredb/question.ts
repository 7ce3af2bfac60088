import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type EventData, EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { eventually } from '../../wait.ts'

/** Request to a server and its answer, in the format of observed.json. */
export type Fact = { readonly name: string; readonly observed: unknown }
export type Tell = (name: string, observed: unknown) => void

/** Prefix of the names of this run, so that its answers can be compared with those of another. */
export const RUN = randomUUID().slice(0, 8)
export const named = (name: string): string => `p${RUN}-${name}`
/** Per-call credentials select the unary append. */
export const unary = { credentials: { username: 'admin', password: 'changeit' } } as const
export const event = (
  id = randomUUID() as string,
  type = 'probe-event',
  data: Record<string, unknown> = { a: 1 },
): EventData => jsonEvent({ id, type, data })
export const events = (count: number, make: (n: number) => EventData = () => event()): EventData[] =>
  Array.from({ length: count }, (_, n) => make(n))
/** A client that waits for a slow machine: large appends take more than the 10 s that are its default. */
export const client = (url: string, extra = ''): EventStoreDBClient =>
  EventStoreDBClient.connectionString(`${url}&defaultDeadline=120000${extra}`)

export const normal = (text: string): string =>
  text
    .replaceAll(RUN, 'RUN')
    .replace(/Deadline exceeded after [\d.]+s.*$/, 'Deadline exceeded after T s,…')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')

/** Converts a value for JSON: bigints end with n, undefined becomes <undefined>, errors become their shape. */
export const plain = (value: unknown): unknown => {
  if (value === undefined) return '<undefined>'
  if (typeof value === 'string') return normal(value)
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `<Uint8Array ${Buffer.from(value).toString('hex')}>`
  if (value instanceof Error) return shape(value)
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

const SHOWN = ['streamName', 'expectedVersion', 'actualVersion', 'maxAppendSize'] as const
/** Fields of an error that the adapter uses. */
export const shape = (error: Error): object => {
  const given = error as Error & Readonly<Record<string, unknown>>
  const shown: Record<string, unknown> = {
    class: error.constructor.name,
    type: plain(given['type']),
    code: plain(given['code']),
    message: normal(error.message),
  }
  for (const key of SHOWN) if (given[key] !== undefined) shown[key] = plain(given[key])
  return shown
}

export type Outcome<T> = { readonly ok: T; readonly error?: undefined } | { readonly error: Error }
export const attempt = async <T>(ask: () => Promise<T>): Promise<Outcome<T>> => {
  try {
    return { ok: await ask() }
  } catch (error) {
    return { error: error as Error }
  }
}
export const show = (outcome: Outcome<unknown>): object =>
  outcome.error ? { error: shape(outcome.error) } : { ok: plain(outcome.ok) }

type Appended = {
  readonly success: boolean
  readonly nextExpectedRevision: bigint
  readonly position?: { commit: bigint; prepare: bigint }
}
/** Shape of an append result; positions are generalized because they differ between runs. */
export const showAppend = (outcome: Outcome<Appended>): object => {
  if (outcome.error) return { error: shape(outcome.error) }
  const { success, nextExpectedRevision, position } = outcome.ok
  return {
    success,
    nextExpectedRevision: plain(nextExpectedRevision),
    position:
      position === undefined
        ? '<undefined>'
        : {
            commitType: typeof position.commit,
            prepareType: typeof position.prepare,
            commitEqualsPrepare: position.commit === position.prepare,
          },
    keys: Object.keys(outcome.ok),
  }
}

type Cancellable<T> = AsyncIterable<T> & { readonly cancel?: () => Promise<void> }
export const collect = async <T>(read: Cancellable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const one of read) all.push(one)
  return all
}
export const revisions = async (store: EventStoreDBClient, stream: string): Promise<unknown> => {
  const read = await attempt(() => collect(store.readStream(stream)))
  return read.error
    ? { error: (read.error as { type?: unknown }).type }
    : read.ok.map(({ event }) => String(event?.revision)).join(',')
}

export const until = async (enough: () => boolean): Promise<void> =>
  void (await eventually(enough, 'what a server says'))

type Heard = {
  readonly event?: { readonly id: string; readonly streamId: string; readonly type: string; readonly revision: bigint }
  readonly link?: { readonly streamId: string }
}
/** Records the events, other emitted event names and the first error of a subscription. */
export const watch = (subscription: Readable) => {
  const heard = { events: [] as Heard[], log: [] as string[], error: undefined as Error | undefined, caughtUpAfter: -1 }
  for (const name of ['confirmation', 'fellBehind', 'end', 'close']) subscription.on(name, () => heard.log.push(name))
  subscription.on('caughtUp', () => {
    heard.log.push('caughtUp')
    heard.caughtUpAfter = heard.events.length
  })
  subscription.on('error', (error: Error) => {
    heard.log.push('error')
    heard.error ??= error
  })
  subscription.on('data', (one: Heard) => heard.events.push(one))
  return heard
}
