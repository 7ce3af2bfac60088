import { createHash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { keyedQueue } from '../../base/concurrency.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import type { SecretShown } from '../../contract/answer.ts'
import type { Views } from '../../projections/views.ts'
import type { Cell } from '../metrics/metrics.ts'
import type { Answer } from '../wire/reply.ts'

/** Time in ms for which a request and its answer are stored. */
const KEPT_MS = 24 * 3_600_000
/**
 * Maximum bytes of a stored answer. If an answer is larger, a retry runs the request again under its command id, with
 * the same outcome.
 */
const MOST_KEPT_BYTES = 16_384
/** Maximum total bytes of stored answers for each owner in 24 hours. Answers beyond this maximum are not stored. */
const OWNERS_BYTES = 64 * 1_048_576
/** Maximum number of owners whose bytes are counted. */
const OWNERS = 10_000

/**
 * Decides whether an answer is stored, and counts the bytes of stored answers per owner over 24 hours. An answer with a
 * secret is always stored, so that the secret is given once.
 */
const storedAnswers = (now: () => Date) => {
  const owners = new LRUCache<string, { readonly until: number; bytes: number }>({ max: OWNERS })
  return (owner: string, text: string, secret: boolean): boolean => {
    const bytes = Buffer.byteLength(text)
    if (secret || bytes > MOST_KEPT_BYTES) return secret
    const time = now().getTime()
    const found = owners.get(owner)
    const held = found && time < found.until ? found : { until: time + KEPT_MS, bytes: 0 }
    if (held !== found) owners.set(owner, held)
    if (held.bytes + bytes > OWNERS_BYTES) return false
    held.bytes += bytes
    return true
  }
}

const TABLE = 'requests'
/**
 * Age in ms after which this instance takes over the request of a different instance, because that request can no
 * longer be running.
 */
const ABANDONED_MS = 30_000

/**
 * Stored state of a request under an idempotency key. The command id is chosen once, so the effect happens once,
 * whichever instance completes the request. It is removed with the stored answer: nobody can derive a secret from it
 * any more.
 */
type StoredResponse = {
  readonly fingerprint: string
  readonly commandId?: string
  readonly owner: string
  readonly since: number
  /** The request is complete, but its answer is not stored. */
  readonly done?: true
  readonly answer?: {
    readonly status: number
    readonly text: string
    readonly headers: Readonly<Record<string, string>>
    readonly etag?: string
    readonly secret: boolean
  }
}

/** `secret_already_shown`: the only 200 answer with details (api.md §4). */
export const alreadyShown = <T extends object>(
  body: T,
  requestId: string,
): T & { readonly details: readonly SecretShown[] } => ({
  ...body,
  details: [
    {
      '@type': 'type.googleapis.com/google.protobuf.Struct',
      value: { reason: 'secret_already_shown', domain: 'rollcall', metadata: { requestId } },
    },
  ],
})

/** Record of a running request under its idempotency key. `requestId` is the id of the current attempt. */
export type Fingerprint = { readonly fingerprint: string; readonly requestId: string }
type Work = (commandId: string) => Promise<Answer> | Answer
/** A request that this attempt carries out; `isFirst`: no earlier attempt can have an effect. */
type Reserved = {
  readonly revision: number
  readonly kept: StoredResponse & { readonly commandId: string }
  readonly isFirst: boolean
}
type Options = {
  readonly views: Pick<Views, 'record' | 'swapRecord'>
  readonly now: () => Date
  readonly instance: string
  /** Counts replayed answers. */
  readonly replays: Cell
  /** True if this is the only instance, so requests of another owner are no longer running. */
  readonly alone: boolean
}

const inProgress = () => refuse('idempotency_in_progress', undefined, { headers: { 'retry-after': '1' } })

/** The stored answer, as the answer to a repeated request. */
const replayOf = ({ answer }: StoredResponse, requestId: string): Answer => {
  const { status, text, headers, etag, secret } = answer!
  const body = JSON.parse(text) as object
  return {
    status,
    body: secret ? alreadyShown(body, requestId) : body,
    headers: { ...headers, 'idempotency-replayed': 'true' },
    ...(etag === undefined ? {} : { etag }),
  }
}

/** Returns a function that reserves a key, or returns the answer of the completed request that has it. */
const reserver = ({ views, now, instance, replays, alone }: Options) => {
  const abandonedMs = alone ? 0 : ABANDONED_MS
  return async (key: string, { fingerprint, requestId }: Fingerprint): Promise<Reserved | Answer> => {
    for (;;) {
      const present = await views.record<StoredResponse>(TABLE, key)
      const time = now().getTime()
      if (present && present.value.fingerprint !== fingerprint) return refuse('idempotency_mismatch')
      if (present?.value.answer) {
        replays.value++
        return replayOf(present.value, requestId)
      }
      if (present && present.value.owner !== instance && time - present.value.since < abandonedMs) return inProgress()
      const kept = {
        fingerprint,
        commandId: present?.value.commandId ?? randomUUID(),
        owner: instance,
        since: time,
        ...(present?.value.done && { done: true as const }),
      }
      const revision = present?.revision ?? 0
      if (await views.swapRecord(TABLE, key, revision, kept, time + KEPT_MS))
        return { revision: revision + 1, kept, isFirst: present === undefined }
    }
  }
}

/**
 * Requests under an idempotency key: one effect and one answer for 24 hours, across instances and restarts (api.md §4).
 */
export const idempotency = (options: Options) => {
  const { views, now, instance, replays } = options
  const reserve = reserver(options)
  const inTurn = keyedQueue()
  const isKept = storedAnswers(now)

  /** Revision of the record of a request while this instance carries it out; undefined if another took it over. */
  const revisionOf = async (key: string): Promise<number | undefined> => {
    const present = await views.record<StoredResponse>(TABLE, key)
    return present?.value.owner === instance ? present.revision : undefined
  }

  const run = async (owner: string, key: string, asked: Fingerprint, work: Work): Promise<Answer> => {
    const reserved = await reserve(key, asked)
    if ('body' in reserved) return reserved
    const { revision, kept, isFirst } = reserved
    const { commandId, ...answered } = kept
    try {
      const answer = await work(commandId)
      const { status = 200, body, headers = {}, etag } = answer
      const text = JSON.stringify(body)
      const secret = answer.secret !== undefined
      const saved = { status, text, headers, ...(etag === undefined ? {} : { etag }), secret }
      const next = isKept(owner, text, secret)
        ? { ...answered, answer: saved }
        : { ...kept, since: 0, done: true as const }
      const isRecorded = await views.swapRecord(TABLE, key, revision, next, kept.since + KEPT_MS)
      // Only the attempt that recorded its answer gives the secret. A lost answer of the store is read back.
      if (secret && !isRecorded && (await revisionOf(key)) !== revision + 1) inProgress()
      if (!kept.done) return answer
      replays.value++
      return { ...answer, headers: { ...headers, 'idempotency-replayed': 'true' } }
    } catch (error) {
      // After a client error the idempotency key can be used again. After an internal error the key keeps its command
      // id, so that a retry cannot have a second effect, even if the first attempt takes effect late.
      const isFree = isFirst && error instanceof Refusal && error.status < 500
      const release = async () => {
        const present = (await revisionOf(key)) ?? revision
        await views.swapRecord(TABLE, key, present, { ...kept, since: 0 }, isFree ? 0 : kept.since + KEPT_MS)
      }
      await release().catch(() => undefined)
      throw error
    }
  }

  /**
   * Runs a request with an idempotency key once. `work` receives the id under which its commands take effect once. If
   * the same request runs twice at once on this instance, the second run waits for the first and returns its answer.
   */
  const once = async <T>(
    owner: string,
    name: string,
    asked: Fingerprint,
    work: (commandId: string) => Promise<Answer<T>> | Answer<T>,
  ): Promise<Answer<T>> => {
    const key = createHash('sha256').update(`${owner}\n${name}`).digest('base64url')
    // The fingerprint ensures that the stored answer is from the same route.
    return (await inTurn(key, () => run(owner, key, asked, work))) as Answer<T>
  }

  return { once }
}

export type Idempotency = ReturnType<typeof idempotency>
