import { useCallback, useEffect, useRef, useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { tellWritten } from '../tabs.ts'
import { Failure, isFailure, isUnknown } from './failure.ts'
import { type Answered, request } from './request.ts'

/** What a person submitted: made once, so that sending it again sends the same bytes under the same key. */
export type Write = {
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** The revision that was shown. */
  readonly revision?: string | undefined
  /** Why, as the person said. */
  readonly reason?: string | undefined
  /** Query keys that are stale once it is done. */
  readonly stale: readonly (readonly string[])[]
}

export type Outcome<T> =
  | ({ readonly done: true } & Answered<T>)
  | { readonly done: false; readonly failure: Failure }

type Prepared = { readonly of: string; readonly key: string }

/** UTF-8 in the bytes of a header, which a browser sends as Latin-1. */
const headerText = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('')

/** A key that no other write has; `crypto.randomUUID` is not there on plain HTTP. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

const headersOf = ({ method, revision, reason }: Write, key: string): Record<string, string> => ({
  ...(method === 'POST' && { 'idempotency-key': key }),
  ...(revision !== undefined && { 'if-match': `"${revision}"` }),
  ...(reason !== undefined && reason !== '' && { 'event-reason': headerText(reason) }),
})

/**
 * Makes writes, one at a time. Sent again after no answer or a 5xx, the same write repeats the same bytes under the
 * same key. A failure that nobody takes is shown by the page: `send` gives it, and its caller must say where.
 */
export const useWrite = () => {
  const client = useQueryClient()
  const prepared = useRef<Prepared | undefined>(undefined)
  const running = useRef(false)
  const alive = useRef(true)
  const [sending, setSending] = useState(false)
  useEffect(() => {
    alive.current = true
    return () => {
      alive.current = false
    }
  }, [])
  const send = useCallback(
    async <T>(write: Write): Promise<Outcome<T> | undefined> => {
      if (running.current) return undefined
      running.current = true
      setSending(true)
      const of = JSON.stringify([write.method, write.path, write.body ?? null])
      if (prepared.current?.of !== of) prepared.current = { of, key: newKey() }
      try {
        const answer = await request<T>(write.path, {
          method: write.method,
          headers: headersOf(write, prepared.current.key),
          ...(write.body !== undefined && { body: JSON.stringify(write.body) }),
        })
        prepared.current = undefined
        await Promise.all(write.stale.map((queryKey) => client.invalidateQueries({ queryKey })))
        tellWritten(write.stale)
        return { done: true, ...answer }
      } catch (error) {
        if (!isFailure(error)) throw error
        if (!isUnknown(error)) prepared.current = undefined
        return { done: false, failure: error }
      } finally {
        running.current = false
        if (alive.current) setSending(false)
      }
    },
    [client],
  )
  return { send, sending }
}
