import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { isFailure } from '../api/failure.ts'
import { useReach } from '../api/reach.ts'
import { readSession } from '../api/session.ts'

const FIRST_MS = 1000
const MOST_MS = 30_000
const STEADY_MS = 30_000

/** While the service does not answer, asks it again after 1, 2, 4 … 30 s; what is on the page is read again once it does. Gives what asks at once. */
export const useRecovery = (): (() => Promise<void>) => {
  const reached = useReach() === 'reached'
  const client = useQueryClient()
  const wait = useRef(FIRST_MS)
  const attempt = useCallback(async () => {
    try {
      await readSession()
      await client.invalidateQueries()
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
    if (reached) timer = window.setTimeout(steady, STEADY_MS)
    else again()
    return () => {
      window.clearTimeout(timer)
      over = true
    }
  }, [reached, attempt])
  return attempt
}
