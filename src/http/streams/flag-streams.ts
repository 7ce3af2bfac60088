import type { ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import { fairGate, type Lease, takeAll } from '../../base/gate.ts'
import { addressKey, networkKey } from '../memory/address-key.ts'
import type { Caller } from '../wire/caller.ts'
import { attempt } from '../wire/fault.ts'
import { type Content, endEach, type OpenStream, topicsOf } from './topics.ts'

/** Time in ms between two checks of all credentials, and number of checks between two comments of a stream. */
const [CHECK_MS, CHECKS_A_COMMENT] = [1_000, 20]

/** Holders of streams whose credential is checked together. `isAllowed` rejects or is false once it has ended. */
export type Audience = { readonly key: string; readonly isAllowed: () => boolean | Promise<boolean> }

type Checked = Audience & { readonly streams: Set<OpenStream>; isChecking: boolean }

/** Maximum number of open streams: of the instance, of a credential, and of a client address. */
type StreamLimits = { readonly most: number; readonly perCredential: number; readonly perAddress: number }

/** Place of a stream. `room` reserves memory for a snapshot; absent: without a limit. */
type StreamLease = Pick<Lease, 'free'> & { readonly room?: OpenStream['room'] }

/** Memory of a frame that no limit counts. */
export const withoutLimit = (): Pick<Lease, 'free'> => ({ free: () => undefined })

const AGAIN = { headers: { 'retry-after': '5' } }

type StreamParts = {
  readonly clock: Clock
  readonly limits: StreamLimits
  /** False while this instance may lack the end of a credential. */
  readonly fresh: () => boolean
  readonly onError: (error: unknown) => void
}

/** Checks the credentials of open streams once a second, and ends the streams of a credential that has ended. */
const audiencesOf = (onError: StreamParts['onError']) => {
  const audiences = new Map<string, Checked>()
  const end = ({ streams }: Checked): void => void endEach(streams)
  const check = async (audience: Checked, verdict: Promise<boolean>): Promise<void> => {
    audience.isChecking = true
    if (!(await verdict.catch(() => false))) end(audience)
    audience.isChecking = false
  }
  return {
    add: (audience: Audience, stream: OpenStream): (() => void) => {
      const { key } = audience
      const checked = audiences.get(key) ?? { ...audience, streams: new Set(), isChecking: false }
      audiences.set(key, checked)
      checked.streams.add(stream)
      return () => {
        checked.streams.delete(stream)
        if (checked.streams.size === 0 && audiences.get(key) === checked) audiences.delete(key)
      }
    },
    checkAll: (): void => {
      for (const audience of audiences.values()) {
        if (audience.isChecking) continue
        try {
          const verdict = audience.isAllowed()
          if (verdict instanceof Promise) void check(audience, verdict)
          else if (!verdict) end(audience)
        } catch (error) {
          onError(error)
          end(audience)
        }
      }
    },
    endAll: (): void => {
      for (const audience of audiences.values()) end(audience)
    },
  }
}

/** Places of the streams, each taken until its lease is freed. */
const placesOf = ({ most, perAddress, perCredential }: StreamLimits) => {
  const gate = fairGate({ total: most })
  const [quarter, part] = [Math.max(perAddress, most / 4), Math.max(perAddress, most / 16)]
  const published = fairGate({ total: quarter, each: Math.max(perAddress, quarter / 2) })
  const networks = fairGate({ total: most, each: part })
  const holders = fairGate({ total: most, each: Math.max(perCredential, (most * 3) / 4) })
  return {
    held: gate.held,
    enter: ({ actor: { id }, published: isPublished = false }: Caller, address: string, holder: string): StreamLease =>
      takeAll(
        id !== undefined && !isPublished
          ? [() => gate.takeNow({ holder: id, each: perCredential }), () => holders.takeNow({ holder })]
          : [
              () => gate.takeNow({ holder: `address ${addressKey(address)}`, each: perAddress }),
              () => networks.takeNow({ holder: networkKey(address) }),
              ...(isPublished ? [() => published.takeNow({ holder: String(id) })] : []),
            ],
      ) ?? refuse('rate_limited', undefined, AGAIN),
  }
}

/**
 * Open streams about flags: events of OFREP (api.md §10) and snapshots (§9). Every stream ends within 3 s after its
 * credential ends, loses the right, or this instance is not fresh.
 */
export const flagStreams = ({ clock, limits, fresh, onError }: StreamParts) => {
  const counts = { events: { open: 0, sent: 0, slow: 0 }, snapshots: { open: 0, sent: 0, slow: 0 } }
  const places = placesOf(limits)
  const audiences = audiencesOf(onError)
  const topics = topicsOf({
    clock,
    onError,
    onSent: (kind) => counts[kind].sent++,
    onSlow: (kind) => counts[kind].slow++,
  })
  /** Streams with comments, by the check at which they get one. */
  const commented = Array.from({ length: CHECKS_A_COMMENT }, () => new Map<OpenStream, Buffer>())
  let [turn, isEnding] = [0, false]
  let checks: { readonly cancel: () => void } | undefined

  const look = (): void => {
    if (!fresh()) return audiences.endAll()
    audiences.checkAll()
    turn = (turn + 1) % CHECKS_A_COMMENT
    for (const [{ response }, comment] of commented[turn]!)
      if (!response.writableEnded) attempt(response, () => response.write(comment))
  }

  return {
    counts,
    changed: topics.changed,
    /**
     * Counts a stream before its headers are sent; over a limit: 429 `rate_limited`. It counts for its credential and the
     * holder of it, who has at most three quarters of the streams. Those of publishable tokens and of callers without a
     * credential count for the address and the network of the client. All publishable tokens together have a quarter of
     * the streams, and each has half of that. Pass the lease to `open`.
     */
    enter: places.enter,
    /** Writes the frames of a content to a response until one side ends it. `isCurrent`: the client has the present one. */
    open: (
      response: ServerResponse,
      { free, room = withoutLimit }: StreamLease,
      content: Content,
      audience: Audience,
      isCurrent: boolean,
    ): void => {
      const { kind, alive } = content
      const stream: OpenStream = { response, room, name: undefined, isSending: false, isBehind: false }
      if (response.destroyed || response.socket?.destroyed) return free()
      counts[kind].open++
      checks ??= clock.every(CHECK_MS, look)
      const comments = commented[places.held() % CHECKS_A_COMMENT]!
      if (alive) comments.set(stream, alive)
      const leaveAudience = audiences.add(audience, stream)
      const leaveTopic = topics.add(content, stream, isCurrent)
      response.once('close', () => {
        counts[kind].open--
        comments.delete(stream)
        leaveAudience()
        leaveTopic()
        free()
        if (places.held() > 0) return
        checks?.cancel()
        checks = undefined
      })
      if (isEnding) response.end()
    },
    /** Ends all streams, and every later one at once, because the service stops. */
    end: (): void => {
      isEnding = true
      audiences.endAll()
    },
  }
}
export type FlagStreams = ReturnType<typeof flagStreams>
