import { type Clock, within } from '../clock.ts'
import type { Execute } from '../commands/execute.ts'
import { formatOf, isHeldBack, isMissed, isWaiting, ROLL, roll, type Roll } from '../commands/membership.ts'
import { type Fold, foldAfter, stepStored, streamFolds, unwritten } from '../commands/stream-folds.ts'
import { FORMAT } from '../events/catalog.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { Logger } from './telemetry/logger.ts'

const STREAM = `${roll.category}-${ROLL}`
const SYSTEM = { actor: { kind: 'system' } } as const
/** Looks at the roll, one minute apart, that an instance may be silent for, and after which the roll is called again. */
const LOOK_MS = 60_000
const SILENT = 15
const AGAIN = 60
/** Answers to a call are spread over so much time. */
const SPREAD_MS = 1_000
/** A farewell takes no longer: who is not heard is struck out. */
const FAREWELL_MS = 1_000

/** The format in which somebody beside the service writes this history: the latest where nobody else lives, else what the roll says now. */
export const formatBeside = async ({
  log,
  alone,
}: {
  readonly log: Pick<EventLog, 'read'>
  readonly alone: boolean
}): Promise<() => number> => {
  const format = alone ? FORMAT : formatOf((await streamFolds(log).newest(roll, STREAM)).state)
  return () => format
}

const EVERY = 'every instance on the roll reads a later format of the history: it is written from here on'
const NOT_EVERY = 'an earlier format of the history is written: an instance on the roll reads no later one'
const UNKNOWN =
  'the first format of the history is written: the roll does not say who else reads it; set eventstore.all_on_roll once every version that keeps no roll is gone'

/** The roll as the log is followed, by an instance that reads formats up to one; at INFO it says when the format that is written changes. */
export const followedRoll = (logger: Pick<Logger, 'info'>, reads: number = FORMAT) => {
  let fold: Fold<Roll> | undefined
  const early: Stored[] = []
  let told = reads
  const listeners: (() => void)[] = []

  const state = (): Roll => fold?.state ?? unwritten(roll).state
  const format = () => formatOf(state())
  const tell = () => {
    const [from, to] = [told, format()]
    told = to
    const { members, complete } = state()
    if (to !== from)
      logger.info({ from, to, instances: members.size }, to > from ? EVERY : complete ? NOT_EVERY : UNKNOWN)
  }
  const take = (event: Stored) => {
    if (event.stream !== STREAM) return
    if (!fold) return void early.push(event)
    if (fold.at !== 'none' && event.revision <= fold.at) return
    fold = stepStored(roll, fold, event).fold
    tell()
    for (const listener of listeners) listener()
  }

  return {
    state,
    /** The format in which the history is to be written. */
    format,
    onChange: (listener: () => void) => void listeners.push(listener),
    /** Begins with what is known of the roll already. */
    begin: (known: Fold<Roll>): void => {
      fold = known
      tell()
      for (const event of early.splice(0)) take(event)
    },
    /** The same log; what is followed of it is heard here first. */
    through: (log: EventLog): EventLog => ({
      ...log,
      follow: async function* (after, signal) {
        for await (const page of log.follow(after, signal)) {
          for (const event of page) take(event)
          yield page
        }
      },
    }),
  }
}

export type FollowedRoll = ReturnType<typeof followedRoll>

type Membership = {
  readonly roll: FollowedRoll
  readonly execute: Execute
  readonly instance: string
  readonly version: string
  /** The latest format that this instance reads. */
  readonly reads?: number
  /** Whether the log is proven to be reachable. */
  readonly fresh: () => boolean
  readonly logger: Pick<Logger, 'warn'>
  readonly onError: (error: unknown) => void
  readonly clock: Clock
  /** A share of the time over which answers are spread, from 0 to 1. */
  readonly chance?: () => number
}

/** An instance on the roll, from `join` to `leave`: answers when the roll is called, calls it, and strikes out who does not answer. */
export const membership = ({
  roll: followed,
  execute,
  instance,
  version,
  reads = FORMAT,
  fresh,
  logger,
  onError,
  clock,
  chance = Math.random,
}: Membership) => {
  const stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let answering: Promise<void> | undefined
  let me = { instance, reads, version, complete: false }
  /** Looks since the last call, and those of them at which somebody had not answered it. */
  let [call, looks, silent] = [0, 0, 0]

  const bePresent = () => execute(roll, ROLL, 'BePresent', me, SYSTEM)

  const answer = async () => {
    await clock.sleep(chance() * SPREAD_MS, stop.signal)
    if (!stop.signal.aborted) await bePresent()
  }
  const answerIfMissed = () => {
    if (stop.signal.aborted || !isMissed(followed.state(), instance)) return
    answering ??= answer()
      .catch(onError)
      .finally(() => (answering = undefined))
  }

  const look = async () => {
    answerIfMissed()
    const state = followed.state()
    // Where the log was out of reach nobody could answer.
    if (state.calls !== call || !fresh()) [call, looks, silent] = [state.calls, 0, 0]
    else looks++
    silent = isWaiting(state, instance) ? silent + 1 : 0
    if (silent > SILENT) await execute(roll, ROLL, 'StrikeSilent', { instance, call }, SYSTEM)
    else if (looks >= AGAIN && isHeldBack(state, reads)) await execute(roll, ROLL, 'CallRoll', { instance }, SYSTEM)
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      await look().catch(onError)
      await clock.sleep(LOOK_MS, stop.signal)
    }
  }

  return {
    /** Puts the instance on the roll, and asks who else is there. From then on the format is what all of them read. */
    join: async (complete: boolean): Promise<void> => {
      me = { ...me, complete }
      followed.onChange(answerIfMissed)
      followed.begin(foldAfter(await bePresent())!)
      await execute(roll, ROLL, 'CallRoll', { instance }, SYSTEM)
      running = run()
    },
    /** Takes the instance from the roll. Who cannot be heard in time says so, and is struck out by others. */
    leave: async (): Promise<void> => {
      stop.abort()
      await running
      await answering
      if (!followed.state().members.has(instance)) return
      const late = () => {
        throw new Error('the log did not answer in time')
      }
      await within(clock, FAREWELL_MS, execute(roll, ROLL, 'LeaveRoll', { instance }, SYSTEM), late).catch(
        (err: unknown) =>
          logger.warn(
            { err },
            'this instance could not be taken from the roll: others strike it out when it does not answer',
          ),
      )
    },
  }
}
