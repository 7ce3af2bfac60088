import type { Config } from '../../config/load.ts'
import { configError, type Problem } from '../../config/problem.ts'

/** What is wrong with the addresses of servers, as their drivers read them. No server is asked. */
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

/** Fails, as any faulty setting does, where the address of a server can never be right. */
export const insistOnAddresses = async (config: Config): Promise<void> => {
  const wrong = await wrongAddresses(config)
  if (wrong.length > 0) throw configError(wrong.map((problem) => ({ ...problem, place: '' })))
}
