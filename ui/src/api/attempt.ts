import { useState } from 'react'
import { type Failure, isFailure } from './failure.ts'

/** Runs requests of a component: `busy` while one runs, and the failure of the last. Other errors are thrown. */
export const useAttempt = () => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | undefined>()
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
    } catch (error) {
      if (!isFailure(error)) throw error
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return { busy, failure, attempt }
}
