import { createHash, randomUUID } from 'node:crypto'
import { keyedQueue } from '../concurrency.ts'
import { Refusal, refuse } from '../errors.ts'
import type { SecretShown } from '../contract/error.ts'
import type { Answer } from './wire/reply.ts'
import type { Views } from '../projections/views.ts'
import type { Cell } from './operations/metrics.ts'

const TABLE = 'requests'
const KEPT_MS = 24 * 3_600_000
/** A request of another instance that has run for longer than this is taken over: it cannot be running any more. */
const ABANDONED_MS = 30_000

/** An answer that is larger fits no record of every store. The request is then carried out again under its command id, and so answered the same. */
const MOST_KEPT_BYTES = 4 * 1_048_576

/** What is kept of a request under an idempotency key. The command id is chosen once, so whoever finishes the request has the one effect. */
export type StoredResponse = {
  readonly fingerprint: string
  readonly commandId: string
  readonly owner: string
  readonly since: number
  readonly answer?: {
    readonly status: number
    readonly text: string
    readonly headers: Readonly<Record<string, string>>
    readonly etag?: string
    readonly secret: boolean
  }
}

/** `secret_already_shown`: the one case of a 200 with details (api.md §4). */
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

/** A request as its key remembers it; the id is of this try alone. */
export type Fingerprint = { readonly fingerprint: string; readonly requestId: string }
type Work = (commandId: string) => Promise<Answer> | Answer
type Options = {
  readonly views: Pick<Views, 'record' | 'swapRecord'>
  readonly now: () => Date
  readonly instance: string
  /** Counts answers given again. */
  readonly replays: Cell
  /** True when there is no other instance: what another began, it does not run any more. */
  readonly alone: boolean
}

/** Requests under an idempotency key: one effect and one answer for 24 hours, across instances and restarts (api.md §4). */
export const idempotency = ({ views, now, instance, replays, alone }: Options) => {
  const abandonedMs = alone ? 0 : ABANDONED_MS
  const inTurn = keyedQueue()

  const replay = ({ answer }: StoredResponse, requestId: string): Answer => {
    const { status, text, headers, etag, secret } = answer!
    replays.value++
    const body = JSON.parse(text) as object
    return {
      status,
      body: secret ? alreadyShown(body, requestId) : body,
      headers: { ...headers, 'idempotency-replayed': 'true' },
      ...(etag === undefined ? {} : { etag }),
    }
  }

  /** Reserves the key, or tells what became of the request that has it. */
  const reserve = async (
    key: string,
    { fingerprint, requestId }: Fingerprint,
  ): Promise<{ readonly revision: number; readonly kept: StoredResponse } | Answer> => {
    for (;;) {
      const present = await views.record<StoredResponse>(TABLE, key)
      const time = now().getTime()
      if (present && present.value.fingerprint !== fingerprint) return refuse('idempotency_mismatch')
      if (present?.value.answer) return replay(present.value, requestId)
      if (present && present.value.owner !== instance && time - present.value.since < abandonedMs) {
        return refuse('idempotency_in_progress', undefined, { headers: { 'retry-after': '1' } })
      }
      const kept: StoredResponse = {
        fingerprint,
        commandId: present?.value.commandId ?? randomUUID(),
        owner: instance,
        since: time,
      }
      const revision = present?.revision ?? 0
      if (await views.swapRecord(TABLE, key, revision, kept, time + KEPT_MS)) return { revision: revision + 1, kept }
    }
  }

  const run = async (key: string, asked: Fingerprint, work: Work): Promise<Answer> => {
    const reserved = await reserve(key, asked)
    if ('body' in reserved) return reserved
    const { revision, kept } = reserved
    try {
      const answer = await work(kept.commandId)
      const { status = 200, body, headers = {}, etag } = answer
      const text = JSON.stringify(body)
      if (Buffer.byteLength(text) > MOST_KEPT_BYTES) {
        await views.swapRecord(TABLE, key, revision, { ...kept, since: 0 }, kept.since + KEPT_MS)
        return answer
      }
      const saved = {
        status,
        text,
        headers,
        ...(etag === undefined ? {} : { etag }),
        secret: answer.secret !== undefined,
      }
      await views.swapRecord(TABLE, key, revision, { ...kept, answer: saved }, kept.since + KEPT_MS)
      return answer
    } catch (error) {
      // A client's mistake leaves nothing behind; after a fault of ours the key keeps its command id, so that trying again cannot have a second effect.
      const mistake = error instanceof Refusal && error.status < 500
      await views
        .swapRecord(TABLE, key, revision, { ...kept, since: 0 }, mistake ? 0 : kept.since + KEPT_MS)
        .catch(() => false)
      throw error
    }
  }

  /** Runs a request once; `work` is given the id under which its commands have their one effect. A duplicate here waits for the first and gets its answer. */
  const once = async <T>(
    owner: string,
    name: string,
    asked: Fingerprint,
    work: (commandId: string) => Promise<Answer<T>> | Answer<T>,
  ): Promise<Answer<T>> => {
    const key = createHash('sha256').update(`${owner}\n${name}`).digest('base64url')
    // What is kept under the key is an answer of the same route.
    return (await inTurn(key, () => run(key, asked, work))) as Answer<T>
  }

  return { once }
}

export type Idempotency = ReturnType<typeof idempotency>
