import { type Clock, withTimeout } from '../../base/clock.ts'
import { SYSTEM } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import {
  awaitsResponse,
  formatOf,
  hasOlderMember,
  MEMBERSHIP,
  type Membership,
  membership,
  mustRespond,
} from '../../commands/membership.ts'
import { type Fold, foldAfter, stepStored, streamFolds, unwritten } from '../../commands/stream-folds.ts'
import { FORMAT } from '../../events/catalog.ts'
import type { EventLog, LogTap, Stored } from '../../events/log.ts'
import type { Logger } from '../telemetry/logger.ts'

const STREAM = `${membership.category}-${MEMBERSHIP}`
/**
 * Interval in ms between two checks of the other instances. Number of checks until a member without a response is
 * evicted, and between two probes.
 */
const CHECK_MS = 60_000
const EVICT_AFTER = 15
const PROBE_AFTER = 60
/** Responses to a probe are spread over this time, in ms. */
const SPREAD_MS = 1_000
/** Timeout of the last command of an instance, in ms. */
const FAREWELL_MS = 1_000

/**
 * Format in which a program other than the service writes events: on an embedded store the latest, else the one that
 * all members read.
 */
export const formatBeside = async ({
  log,
  alone,
}: {
  readonly log: Pick<EventLog, 'read'>
  readonly alone: boolean
}): Promise<number> => (alone ? FORMAT : formatOf((await streamFolds(log).newest(membership, STREAM)).state))

const EVERY = 'every instance reads a later event format, so events are written in that format from now on'
const NOT_EVERY = 'events are written in an earlier format, because one instance reads no later format'
const UNKNOWN =
  'events are written in the first format, because instances of an older version may be running; set eventstore.all_on_roll when no such instance runs'

/**
 * Cluster membership according to the log that this instance has read so far. Logs an INFO line when the written format
 * changes. `reads`: latest format that this instance reads.
 */
export const followedMembership = (logger: Pick<Logger, 'info'>, reads: number = FORMAT) => {
  let fold: Fold<Membership> | undefined
  const early: Stored[] = []
  let written = reads
  const listeners: (() => void)[] = []

  const state = (): Membership => fold?.state ?? unwritten(membership).state
  const format = () => formatOf(state())
  const tell = () => {
    const [from, to] = [written, format()]
    written = to
    const { members, complete } = state()
    if (to !== from)
      logger.info({ from, to, instances: members.size }, to > from ? EVERY : complete ? NOT_EVERY : UNKNOWN)
  }
  const take = (event: Stored) => {
    if (event.stream !== STREAM) return
    if (!fold) return void early.push(event)
    if (fold.at !== 'none' && event.revision <= fold.at) return
    fold = stepStored(membership, fold, event).fold
    tell()
    for (const listener of listeners) listener()
  }

  return {
    state,
    /** Format of the events that this instance writes. */
    format,
    onChange: (listener: () => void) => void listeners.push(listener),
    begin: (known: Fold<Membership>): void => {
      fold = known
      tell()
      for (const event of early.splice(0)) take(event)
    },
    tap: {
      onPage: (page) => {
        for (const event of page) take(event)
      },
    } satisfies LogTap,
  }
}

type FollowedMembership = ReturnType<typeof followedMembership>

type ClusterMember = {
  readonly membership: FollowedMembership
  readonly execute: Execute
  readonly instance: string
  readonly version: string
  /** The latest format that this instance reads. */
  readonly reads?: number
  /** True while the log is provably reachable. */
  readonly fresh: () => boolean
  readonly logger: Pick<Logger, 'warn'>
  readonly onError: (error: unknown) => void
  readonly clock: Clock
  /** Random fraction of the spread time, from 0 to 1. */
  readonly chance?: () => number
}

const NOT_LEFT =
  'this instance could not record in the event log that it stops; the other instances remove it from the list of members when it does not respond for 15 minutes'

/** Membership of this instance: responds to probes, probes others, and evicts members that do not respond. */
export const clusterMember = ({
  membership: followed,
  execute,
  instance,
  version,
  reads = FORMAT,
  fresh,
  logger,
  onError,
  clock,
  chance = Math.random,
}: ClusterMember) => {
  const stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let responding: Promise<void> | undefined
  let me = { instance, reads, version, complete: false }
  /** Number of the last probe; checks since it; checks at which a member had not responded. */
  let [probe, checks, waits] = [0, 0, 0]

  const announce = () => execute(membership, MEMBERSHIP, 'Join', me, SYSTEM)

  const answer = async () => {
    await clock.sleep(chance() * SPREAD_MS, stop.signal)
    if (!stop.signal.aborted) await announce()
  }
  const respondIfProbed = () => {
    if (stop.signal.aborted || !mustRespond(followed.state(), instance)) return
    responding ??= answer()
      .catch(onError)
      .finally(() => (responding = undefined))
  }

  const check = async () => {
    respondIfProbed()
    const state = followed.state()
    // No member can respond while the log is unreachable.
    if (state.probes !== probe || !fresh()) [probe, checks, waits] = [state.probes, 0, 0]
    else checks++
    waits = awaitsResponse(state, instance) ? waits + 1 : 0
    if (waits > EVICT_AFTER) await execute(membership, MEMBERSHIP, 'EvictUnresponsive', { instance, probe }, SYSTEM)
    else if (checks >= PROBE_AFTER && hasOlderMember(state, reads))
      await execute(membership, MEMBERSHIP, 'Probe', { instance }, SYSTEM)
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      await check().catch(onError)
      await clock.sleep(CHECK_MS, stop.signal)
    }
  }

  return {
    /**
     * Joins the cluster and probes the other members. After joining, `format` is the latest format that all members
     * read.
     */
    join: async (complete: boolean): Promise<void> => {
      me = { ...me, complete }
      followed.onChange(respondIfProbed)
      followed.begin(foldAfter(await announce())!)
      await execute(membership, MEMBERSHIP, 'Probe', { instance }, SYSTEM)
      running = run()
    },
    /**
     * Leaves the cluster. If the log does not answer in time, it logs a warning, and another member evicts this
     * instance.
     */
    leave: async (): Promise<void> => {
      stop.abort()
      await running
      await responding
      if (!followed.state().members.has(instance)) return
      const late = () => {
        throw new Error('the event log did not answer in time')
      }
      const left = execute(membership, MEMBERSHIP, 'Leave', { instance }, SYSTEM)
      await withTimeout(clock, FAREWELL_MS, left, late).catch((err: unknown) => logger.warn({ err }, NOT_LEFT))
    },
  }
}
