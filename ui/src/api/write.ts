import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { randomId } from '../random-id.ts'
import { tellWritten } from '../tabs.ts'
import { type Failure, isFailure, isUnknown } from './failure.ts'
import { keys as keysOfReads } from './keys.ts'
import { type Answered, request } from './request.ts'

/** Write request that a user submitted. */
export type Write = {
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Revision that the user saw, sent as `If-Match`. */
  readonly revision?: string | undefined
  /** Reason that the user gave. */
  readonly reason?: string | undefined
  /** Query keys to invalidate after success. */
  readonly stale: readonly (readonly string[])[]
}

type Done<T> = { readonly done: true; readonly failure?: undefined } & Answered<T>
type Refused = { readonly done: false; readonly failure: Failure }
/** Result of a write. The caller shows the failure. */
type Outcome<T> = Done<T> | Refused

/** Encodes UTF-8 as Latin-1 characters, because a browser sends header values as Latin-1. */
const headerText = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('')

const headersOf = ({ method, revision, reason }: Write, key: string): Record<string, string> => ({
  ...(method === 'POST' && { 'idempotency-key': key }),
  ...(revision !== undefined && { 'if-match': `"${revision}"` }),
  ...(reason !== undefined && reason !== '' && { 'event-reason': headerText(reason) }),
})

const sendUnder = async <T>(write: Write, key: string): Promise<Outcome<T>> => {
  try {
    const answer = await request<T>(write.path, {
      method: write.method,
      headers: headersOf(write, key),
      ...(write.body !== undefined && { body: JSON.stringify(write.body) }),
    })
    return { done: true, ...answer }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { done: false, failure: error }
  }
}

const refresh = async (client: QueryClient, stale: Write['stale']): Promise<void> => {
  await Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })))
  tellWritten(stale)
}

/** Idempotency keys of writes. A repeated write has the same key until its result is known. */
const keysOfWrites = () => {
  const keys = new Map<string, string>()
  const nameOf = ({ method, path, body, reason }: Write) => JSON.stringify([method, path, body ?? null, reason ?? ''])
  return {
    of: (write: Write): string => {
      const name = nameOf(write)
      const key = keys.get(name) ?? randomId()
      keys.set(name, key)
      return key
    },
    settle: (write: Write, { failure }: Outcome<unknown>): void => {
      if (!failure || !isUnknown(failure)) keys.delete(nameOf(write))
    },
  }
}

const AT_ONCE = 4

/**
 * Sends writes, one batch at a time. A retry after no answer or a 5xx repeats the same bytes with the same idempotency
 * key.
 */
export const useWrites = () => {
  const client = useQueryClient()
  const [keys] = useState(keysOfWrites)
  const running = useRef(false)
  const alive = useRef(true)
  const [sending, setSending] = useState(false)
  useEffect(() => {
    alive.current = true
    return () => {
      alive.current = false
    }
  }, [])
  /** Results in the order of the writes; undefined if another batch is in progress. */
  const sendAll = async <T>(writes: readonly Write[]): Promise<readonly Outcome<T>[] | undefined> => {
    if (running.current) return undefined
    running.current = true
    setSending(true)
    const outcomes: Outcome<T>[] = []
    const waiting = writes.entries()
    const worker = async () => {
      for (const [n, write] of waiting) {
        const outcome = await sendUnder<T>(write, keys.of(write))
        keys.settle(write, outcome)
        outcomes[n] = outcome
      }
    }
    try {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, writes.length) }, worker))
      const stale = writes.flatMap(({ stale }, n) => (outcomes[n]?.done ? stale : []))
      if (outcomes.some(({ failure }) => failure?.status === 403))
        void client.invalidateQueries({ queryKey: keysOfReads.access })
      const all = stale.length === 0 ? stale : [...stale, keysOfReads.history]
      await refresh(client, [...new Map(all.map((key) => [key.join('/'), key])).values()])
      return outcomes
    } finally {
      running.current = false
      if (alive.current) setSending(false)
    }
  }
  return { sendAll, sending }
}

/** Sends one write at a time; a call during a write does nothing. */
export const useWrite = () => {
  const { sendAll, sending } = useWrites()
  const send = async <T>(write: Write): Promise<Outcome<T> | undefined> => (await sendAll<T>([write]))?.[0]
  return { send, sending }
}
