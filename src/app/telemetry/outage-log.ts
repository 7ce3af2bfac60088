import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { Refusal, whyOf } from '../../base/errors.ts'
import type { Logger } from './logger.ts'

/** A store works again when no call has failed for this time (ms). */
const QUIET_MS = 10_000
/** A failure is logged again if the previous one is older than this (ms). */
const STALE_MS = 600_000

const advice: Readonly<Record<string, string>> = {
  embedded: 'check the data directory and its disk',
  eventstoredb: 'check that EventStoreDB runs, has a leader and is reachable',
  mongodb: 'check that MongoDB runs, has a primary and is reachable',
  redis: 'check that Redis runs and is reachable',
  provider: 'check that the provider is reachable and accepts the client id and secret',
  past: 'check the data directory, its disk, and the memory limit of the service',
  cluster: 'check that the API server of the cluster is reachable and allows this service to create token reviews',
}

/** Advice by the error of Redis, for errors other than a wrong address. */
const adviceOfRedis: readonly (readonly [RegExp, string])[] = [
  [/MOVED|CROSSSLOT|CLUSTERDOWN/, 'check that every node of the Redis Cluster runs, and set redis.mode to cluster'],
  [
    /OOM|maxmemory/,
    'give Redis more memory (maxmemory), or give this service a Redis of its own with maxmemory-policy noeviction',
  ],
  [
    /NOPERM|no permissions/i,
    'give the user in redis.url the permissions in docs/guides/operations.md, section Least privilege',
  ],
  [/NOAUTH|WRONGPASS|invalid password/i, 'check redis.username and redis.password'],
  [
    /READONLY|MISCONF|NOREPLICAS/,
    'check that redis.url is the address of the primary server; if you use Sentinels, set redis.mode to sentinel',
  ],
  [/certificate|self.signed|SSL|TLS/i, 'check redis.ca_file, and that the certificate of Redis contains its host name'],
]
const adviceOf = (adapter: string, port: string, why = ''): string | undefined =>
  (adapter === 'redis' && adviceOfRedis.find(([pattern]) => pattern.test(why))?.[1]) ||
  (advice[adapter] ?? advice[port])

const REFUSED = 'the store is unreachable or fails; requests that need it are refused until it works again'
/** Effects of the outages that do not refuse every request of their adapter. */
const effects: Readonly<Record<string, string>> = {
  redis:
    'Redis is unreachable or fails; until it works again each instance runs jobs and counts rate limits by itself, and no request is refused',
  past: 'reads of past states fail, so requests with at= are refused; the next of these requests tries again',
}

type Calls = Readonly<Record<string, (...args: never[]) => unknown>>

/** True if the store itself failed. A store that refuses a call (lost race, oversized event, deleted stream) works. */
export const fails = (error: unknown): boolean =>
  !(error instanceof Refusal) || (error.status === 503 && error.reason !== 'event_unreadable')

const OWN_LINES: readonly unknown[] = ['ENOSPC', 'DAMAGED', 'TAKEN_AWAY']
/** True for failures by a full disk, or by a damaged or moved file, which are logged separately. */
export const hasOwnLine = (error: unknown): boolean => {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && OWN_LINES.includes(cause.code)
}

/** Logs the failures of one store: the first one of an outage, and the end of the outage. */
const faultOf = (
  adapter: string,
  log: Pick<Logger, 'error' | 'info'>,
  { monotonic, after }: Pick<Clock, 'monotonic' | 'after'>,
) => {
  const failing = new Set<string>()
  let [since, last, calls] = [0, 0, 0]
  let quiet: Timer | undefined

  const over = () => {
    log.info({ adapter, failures: calls, seconds: Math.round((last - since) / 1000) }, 'it works again')
    failing.clear()
    calls = 0
    quiet = undefined
  }
  return {
    failed: (port: string, operation: string, error: unknown): void => {
      if (hasOwnLine(error)) return
      quiet?.cancel()
      quiet = undefined
      const now = monotonic()
      if (calls === 0 || now - last > STALE_MS) {
        ;[since, calls] = [now, 0]
        const why = whyOf(error)
        const record = {
          port,
          adapter,
          operation,
          why,
          advice: refusalDetailsOf(error).change ?? adviceOf(adapter, port, why),
        }
        log.error(record, effects[adapter] ?? REFUSED)
      }
      last = now
      calls++
      failing.add(`${port} ${operation}`)
    },
    worked: (port: string, operation: string): void => {
      if (failing.has(`${port} ${operation}`)) quiet ??= after(QUIET_MS, over).unref()
    },
    /** Operations that failed, from their first failure until the store is logged as working again. */
    failing,
  }
}
type Fault = ReturnType<typeof faultOf>

/** Logs outages of stores and providers: one ERROR line at the first failure, one INFO line when it works again. */
export const outageLog = (log: Pick<Logger, 'error' | 'info'>, clock: Pick<Clock, 'monotonic' | 'after'>) => {
  const known = new WeakSet<object>()
  const faults = new Map<string, Fault>()
  let hasEnded = false

  /** A fault that also records the errors that it receives. */
  const reporting = (adapter: string): Fault => {
    const fault = faultOf(adapter, log, clock)
    const failed: Fault['failed'] = (port, operation, error) => {
      if (typeof error !== 'object' || error === null) return
      known.add(error)
      if (!hasEnded) fault.failed(port, operation, error)
    }
    return { ...fault, failed }
  }

  /** One listener per store, shared by its ports. */
  const listener = (adapter: string): Fault => {
    const made = faults.get(adapter) ?? reporting(adapter)
    faults.set(adapter, made)
    return made
  }

  return {
    of: listener,
    /** Logs no failure from now on: the stores close, and refuse the rest of the work. */
    end: (): void => void (hasEnded = true),
    /** True if the error was already reported. */
    wasReported: (error: unknown): boolean => typeof error === 'object' && error !== null && known.has(error),
    /** Wraps functions so that each call is reported. */
    instrument: <P extends object>(port: string, adapter: string, calls: P): P => {
      const { failed, worked } = listener(adapter)
      const telling = ([operation, call]: [string, (...args: never[]) => Promise<unknown>]) => [
        operation,
        async (...args: never[]) => {
          try {
            const answer = await call(...args)
            worked(port, operation)
            return answer
          } catch (error) {
            if (fails(error)) failed(port, operation, error)
            throw error
          }
        },
      ]
      return Object.fromEntries(
        Object.entries(calls as Calls).map((entry) => telling(entry as Parameters<typeof telling>[0])),
      ) as P
    },
  }
}

export type OutageLog = ReturnType<typeof outageLog>
