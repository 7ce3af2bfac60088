import type { Config } from '../../config/load.ts'
import { configError, type Problem } from '../../config/problem.ts'

/** Returns the problems that the drivers find in the server addresses. The check connects to no server. */
export const wrongAddresses = async ({
  storage,
  eventstore,
  mongodb,
  redis,
}: Config): Promise<readonly Omit<Problem, 'place'>[]> => {
  if (storage.type !== 'cluster') return []
  const readers = [
    ['eventstore.url', eventstore.url, (await import('../../adapters/eventstoredb/address.ts')).wrongWith],
    ['mongodb.url', mongodb.url, (await import('../../adapters/mongodb/address.ts')).wrongWith],
  ] as const
  const found = readers.map(([key, url, wrongWith]) => [key, wrongWith(url!)] as const)
  const ofRedis = (await import('../../adapters/redis/address.ts')).wrongWith({ ...redis, url: redis.url! })
  return [...found, ...ofRedis.map(([key, description]) => [`redis.${key}`, description] as const)].flatMap(
    ([key, description]) => (description === undefined ? [] : [{ key, description }]),
  )
}

/** Fails like any invalid setting if a server address is invalid. */
export const insistOnAddresses = async (config: Config): Promise<void> => {
  const wrong = await wrongAddresses(config)
  if (wrong.length > 0) throw configError(wrong.map((problem) => ({ ...problem, place: '' })))
}
