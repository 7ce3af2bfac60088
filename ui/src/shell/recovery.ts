import { type Query, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { isFailure } from '../api/failure.ts'
import { useReach } from '../api/reach.ts'
import { readSession } from '../api/session.ts'

const FIRST_MS = 1000
const MOST_MS = 30_000
const STEADY_MS = 30_000

/** What could not be read because the service was not there, or not yet whole. */
const unread = {
  type: 'active',
  predicate: ({ state: { error } }: Query) => isFailure(error) && (error.status === 0 || error.status === 503),
} as const

/** Milliseconds after which the service wants to be asked again. */
const notBefore = (error: unknown): number => (isFailure(error) ? (error.retryAfter ?? 0) * 1000 : 0)

/** Once the service does not answer, asks it again after 1, 2, 4 … 30 s, until all that is on the page could be read again. Gives what asks at once. */
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
