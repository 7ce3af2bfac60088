import type { Clock } from '../base/clock.ts'
import { isRefusal } from '../base/errors.ts'
import { METHODS } from '../events/token.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Query, Views } from '../projections/views.ts'

const TABLE = 'later-rules'
const ID = 'main'
/** Page size, and pause in ms between two pages. */
const BATCH = 100
const REST_MS = 250
const AGAIN_MS = 30_000
/** Expiry of the progress record: never. */
const FOR_EVER = 8.64e15

const RULED = METHODS.filter((method) => method !== 'token')

/** Progress of the job for an access configuration: the last token of a method, or the next method. */
type Reached = { readonly policy: number; readonly method: number; readonly after?: NonNullable<Query['after']> }

type Outcome = 'kept' | 'narrowed' | 'ended'

type ReapplyRulesOptions = {
  readonly views: Pick<Views, 'list' | 'records' | 'swapRecord'>
  readonly policy: () => Promise<number>
  readonly narrow: (id: string) => Promise<Outcome>
  /** Resolves once the views contain all events of the log; rejects after a timeout. */
  readonly complete: () => Promise<unknown>
  readonly clock: Pick<Clock, 'sleep'>
  /** Current time, for the expiry of tokens. */
  readonly now: () => Date
  readonly onDone: (counts: Readonly<Record<Outcome, number>>) => void
  readonly onError: (error: unknown) => void
}

/** Progress that the instances have recorded for an access configuration. */
const reached = async (views: ReapplyRulesOptions['views'], number: number) => {
  const stored = (await views.records<Reached>(TABLE, [ID])).get(ID)
  const value: Reached = stored && stored.value.policy >= number ? stored.value : { policy: number, method: 0 }
  return { revision: stored?.revision ?? 0, value }
}

/**
 * Applies the current access rules to the tokens of earlier logins and exchanges that are not in use. Runs once per
 * access configuration, page by page, across all instances and restarts.
 */
export const reapplyRulesSweep = ({
  views,
  policy,
  narrow,
  complete,
  clock,
  now,
  onDone,
  onError,
}: ReapplyRulesOptions) => {
  const stop = new AbortController()
  const counts = { kept: 0, narrowed: 0, ended: 0 }
  let running: Promise<void> = Promise.resolve()

  /** Applies the rules to one token. An unreadable token is skipped, because it is refused anyway. */
  const take = async (id: string): Promise<void> => {
    try {
      counts[await narrow(id)]++
    } catch (error) {
      if (!isRefusal(error, 'event_unreadable')) throw error
    }
  }

  /** Processes one page. Returns false if no token is left, or if a later configuration has replaced this one. */
  const goOn = async (number: number): Promise<boolean> => {
    const { revision, value } = await reached(views, number)
    const { method, after } = value
    if (value.policy > number || method >= RULED.length) return false
    const { rows } = await views.list<TokenDoc>(tokens, {
      where: { method: { equals: [RULED[method]] }, deletedAt: { equals: [undefined] } },
      order: 'createdAt',
      limit: BATCH,
      ...(after && { after }),
    })
    const time = now().toISOString()
    const isDue = ({ policy: of = -1, expiresAt }: TokenDoc) =>
      of < number && (expiresAt === undefined || expiresAt > time)
    for (const { doc } of rows) if (doc && isDue(doc) && !stop.signal.aborted) await take(doc.id)
    if (stop.signal.aborted) return false
    const last = rows.at(-1)
    const next: Reached =
      rows.length < BATCH || !last?.doc
        ? { policy: number, method: method + 1 }
        : { policy: number, method, after: { value: last.doc.createdAt, key: last.key } }
    await views.swapRecord(TABLE, ID, revision, next, FOR_EVER)
    return true
  }

  const sweep = async (): Promise<void> => {
    const number = await policy()
    await complete()
    while (!stop.signal.aborted && (await goOn(number))) await clock.sleep(REST_MS, stop.signal)
    if (!stop.signal.aborted && counts.narrowed + counts.ended > 0) onDone(counts)
  }

  const untilDone = async (): Promise<void> => {
    while (!stop.signal.aborted)
      try {
        return await sweep()
      } catch (error) {
        // The job waits for older instances to end, which is logged separately.
        if (!isRefusal(error, 'release_in_progress')) onError(error)
        await clock.sleep(AGAIN_MS, stop.signal)
      }
  }

  return {
    begin: (): void => {
      running = untilDone()
    },
    /** Resolves once the job is finished or closed. */
    done: (): Promise<void> => running,
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}
