import { randomBytes, randomUUID } from 'node:crypto'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import { systemClock } from '../../../src/clock.ts'
import { STAND_IN_BULK } from '../servers.ts'

/** A database of its own on a server. Errors behind the scenes are failures of the test that meets them. */
export const database = (url: string) => {
  const name = `rollcall_test_${randomUUID().replaceAll('-', '')}`
  const errors: unknown[] = []
  const open = () =>
    openMongo(url, name, { clock: systemClock, bulk: STAND_IN_BULK, onError: (error) => errors.push(error) })
  const kek = randomBytes(32)
  return {
    name,
    errors,
    open,
    views: { open: async () => (await open()).views },
    keys: { open: async () => (await open()).keys(kek) },
  }
}
