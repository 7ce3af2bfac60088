import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import type { Clock, Timer } from '../../clock.ts'
import { Refusal, whyOf } from '../../errors.ts'
import type { Logger } from './logger.ts'

/** A store that worked again works when nothing of it has failed for so long. */
const QUIET_MS = 10_000
/** A failure is news again when the one before it is so old. */
const STALE_MS = 600_000

/** Where to look, by what fails. */
const advice: Readonly<Record<string, string>> = {
  embedded: 'look at the data directory and its disk',
  eventstoredb: 'see that EventStoreDB runs, has a leader and can be reached',
  mongodb: 'see that MongoDB runs, has a primary and can be reached',
  redis: 'see that Redis runs and can be reached',
  provider: 'see that the provider can be reached and takes the client id and secret',
  past: 'look at the data directory and its disk, and at the memory that the service may take',
  cluster: 'see that the API server of the cluster can be reached and lets this service ask for token reviews',
}

/** What Redis says when it is not its address that is wrong, and what to do then. */
const adviceOfRedis: readonly (readonly [RegExp, string])[] = [
  [/MOVED|CROSSSLOT|CLUSTERDOWN/, 'see that every node of the Redis Cluster runs, and set redis.mode to cluster'],
  [/OOM|maxmemory/, 'give Redis more memory (maxmemory), or a database of its own with maxmemory-policy noeviction'],
  [/NOPERM|no permissions/i, 'let the user of redis.url do what docs/guides/operations.md lists under Least privilege'],
  [/NOAUTH|WRONGPASS|invalid password/i, 'see redis.username and redis.password'],
  [
    /READONLY|MISCONF|NOREPLICAS/,
    'see that redis.url names the primary, which can write; behind Sentinels set redis.mode to sentinel',
  ],
  [
    /certificate|self.signed|SSL|TLS/i,
    'see redis.ca_file, and that the certificate of Redis has the name it is asked by',
  ],
]
const adviceOf = (adapter: string, port: string, why = ''): string | undefined =>
  (adapter === 'redis' && adviceOfRedis.find(([said]) => said.test(why))?.[1]) || (advice[adapter] ?? advice[port])

const REFUSED = 'out of reach or failing: what needs it is refused until it works again'
/** What is meant where that is not so. */
const effects: Readonly<Record<string, string>> = {
  redis:
    'out of reach or failing: until it works again each instance does the jobs by itself and counts its own limits; nothing is refused',
  past: 'the past cannot be read: what names a moment is refused; the next that does tries it anew',
}

/** Told of the calls of one store. */
type Fault = {
  readonly failed: (port: string, operation: string, error: unknown) => void
  readonly worked: (port: string, operation: string) => void
  /** True from the first failure until it is told that it works again. */
  readonly failing: () => boolean
}
type Calls = Readonly<Record<string, (...args: never[]) => unknown>>

/** True when it is the store that fails: one that refuses (a lost race, an event too large, a stream that was deleted) works. */
export const fails = (error: unknown): boolean =>
  !(error instanceof Refusal) || (error.status === 503 && error.reason !== 'event_unreadable')

/** True for what a full disk or a damaged file fails: each has a line of its own. */
export const hasOwnLine = (error: unknown): boolean => {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'DAMAGED')
}

/** Logs the failures of one store: the first one of an outage, and the end of the outage. */
const faultOf = (
  adapter: string,
  log: Pick<Logger, 'error' | 'info'>,
  { monotonic, after }: Pick<Clock, 'monotonic' | 'after'>,
): Fault => {
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
    failed: (port, operation, error) => {
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
    worked: (port, operation) => {
      if (failing.size > 0 && failing.has(`${port} ${operation}`)) quiet ??= after(QUIET_MS, over).unref()
    },
    failing: () => failing.size > 0,
  }
}

/** Tells of what the service needs and cannot reach: one ERROR line when it begins to fail, one INFO line when it works again. */
export const outageLog = (log: Pick<Logger, 'error' | 'info'>, clock: Pick<Clock, 'monotonic' | 'after'>) => {
  const known = new WeakSet<object>()
  const faults = new Map<string, Fault>()

  /** A fault that also records the errors that it receives. */
  const reporting = (adapter: string): Fault => {
    const fault = faultOf(adapter, log, clock)
    const failed: Fault['failed'] = (port, operation, error) => {
      if (typeof error !== 'object' || error === null) return
      known.add(error)
      fault.failed(port, operation, error)
    }
    return { ...fault, failed }
  }

  /** One for each store, whatever its ports are. */
  const listener = (adapter: string): Fault => {
    const made = faults.get(adapter) ?? reporting(adapter)
    faults.set(adapter, made)
    return made
  }

  return {
    of: listener,
    /** True for the error of a call that was reported. */
    wasReported: (error: unknown): boolean => typeof error === 'object' && error !== null && known.has(error),
    /** The same functions, with each call reported. */
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
