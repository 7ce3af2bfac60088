import { randomUUID } from 'node:crypto'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'

/** A queue of its own on a Redis, that several may have open. */
export const sharedQueue = (url: string, grace?: number) => {
  const errors: unknown[] = []
  const prefix = `rollcall-test-${randomUUID()}`
  const open = () =>
    openBullmq(url, { prefix, onError: (_, error) => errors.push(error), ...(grace !== undefined && { grace }) })
  return { open, errors, prefix, shared: true }
}
