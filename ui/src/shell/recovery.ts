import { type Query, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { isFailure } from '../api/failure.ts'
import { useReach } from '../api/reach.ts'
import { readSession } from '../api/session.ts'

const FIRST_MS = 1000
const MOST_MS = 30_000
const STEADY_MS = 30_000

/** Filter of the active queries that failed because the service did not answer or answered 503. */
const unread = {
  type: 'active',
  predicate: ({ state: { error } }: Query) => isFailure(error) && (error.status === 0 || error.status === 503),
} as const

/** `Retry-After` of an error, in ms. */
const notBefore = (error: unknown): number => (isFailure(error) ? (error.retryAfter ?? 0) * 1000 : 0)

/**
 * While the service does not answer, retries after 1, 2, 4 … 30 s until all queries of the page have succeeded. Returns
 * a function that retries at once.
 */
export const useRecovery = (): (() => Promise<void>) => {
  const reached = useReach() === 'reached'
  const client = useQueryClient()
  const wait = useRef(FIRST_MS)
  const [recovering, setRecovering] = useState(false)
  if (!reached && !recovering) setRecovering(true)
  const attempt = useCallback(async () => {
    try {
      await readSession()
      await client.invalidateQueries()
      const left = client.getQueryCache().findAll(unread)
      if (left.length === 0) setRecovering(false)
      wait.current = Math.max(wait.current, ...left.map(({ state: { error } }) => notBefore(error)))
    } catch (error) {
      if (!isFailure(error)) throw error
    }
  }, [client])
  useEffect(() => {
    let timer = 0
    let over = false
    const again = () => {
      if (over) return
      timer = window.setTimeout(() => void attempt().then(again), wait.current)
      wait.current = Math.min(wait.current * 2, MOST_MS)
    }
    const steady = () => {
      wait.current = FIRST_MS
    }
    if (recovering) again()
    else timer = window.setTimeout(steady, STEADY_MS)
    return () => {
      window.clearTimeout(timer)
      over = true
    }
  }, [recovering, attempt])
  return attempt
}
