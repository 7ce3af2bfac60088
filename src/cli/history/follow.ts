import type { Clock } from '../../base/clock.ts'
import { EXIT, isFailure } from '../../base/failure.ts'
import type { Client } from '../client/client.ts'

/** First and longest pause in ms before a new connection, and the silence after which a connection counts as lost. */
const [FIRST_MS, LONGEST_MS, SILENCE_MS] = [250, 30_000, 45_000]

/** A block of the stream: the index up to which the service has examined the events, and the event there, if any. */
type Block = { readonly index: number; readonly json?: string }

const blockOf = (text: string): readonly Block[] => {
  const [, index, json] = /^id: (\d+)(?:\ndata: (.*))?$/.exec(text) ?? []
  return index === undefined ? [] : [{ index: Number(index), ...(json !== undefined && { json }) }]
}

/** Whole blocks of a connection as they arrive. A connection that is silent for too long ends. */
async function* blocksOf(body: ReadableStream<Uint8Array>, { after }: Clock): AsyncGenerator<readonly Block[]> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const silence = after(SILENCE_MS, () => void reader.cancel())
      const { value } = await reader.read().finally(silence.cancel)
      if (!value) return
      const texts = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = texts.pop()!
      yield texts.flatMap(blockOf)
    }
  } finally {
    // A broken connection cannot be cancelled, which is no fault.
    await reader.cancel().catch(() => undefined)
  }
}

/** The last index received, if any, and the parameters of the stream. */
type From = { readonly last: number | undefined; readonly query: Readonly<Record<string, string | number | undefined>> }

/**
 * Follows the live stream of events. When a connection ends, the command continues after the last whole block, with an
 * exponential back-off. Ends when `stop` aborts; fails if the service refuses the first connection, or the credential.
 */
export async function* followed(
  { open }: Client,
  path: string,
  { last, query }: From,
  clock: Clock,
  stop: AbortSignal,
): AsyncGenerator<readonly Block[]> {
  let [at, pause, isBegun] = [last, FIRST_MS, false]
  while (!stop.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(at !== undefined && { 'last-event-id': String(at) }) }
      const { body } = await open(path, { query, headers }, stop)
      isBegun = true
      for await (const blocks of blocksOf(body!, clock)) {
        yield blocks
        if (blocks.length > 0) [at, pause] = [blocks.at(-1)!.index, FIRST_MS]
      }
    } catch (error) {
      // Any other error is the end of a connection.
      if (!stop.aborted && (!isBegun || (isFailure(error) && error.exit !== EXIT.unavailable))) throw error
    }
    await clock.sleep(pause, stop)
    pause = Math.min(2 * pause, LONGEST_MS)
  }
}
