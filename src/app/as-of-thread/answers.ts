import type { MessagePort } from 'node:worker_threads'
import type { AsOfReads } from '../../as-of/reads.ts'
import { Refusal } from '../../base/errors.ts'
import { failedBy, PIECE, type ThreadRequest, type ThreadResponse, textOf } from './messages.ts'

type Reading = Exclude<ThreadRequest, 'close' | readonly [number, 'stop']>

/** Rows of the first documents as JSON, up to about `PIECE` characters. */
const texts = async (reads: AsOfReads, [position, wanted]: Parameters<AsOfReads['rows']>, signal: AbortSignal) => {
  const rows: string[] = []
  for (let size = 0; rows.length < wanted.length && size < PIECE; ) {
    for (const row of await reads.rows(position, wanted.slice(rows.length), signal)) {
      const text = textOf(row)
      rows.push(text)
      size += text.length
    }
  }
  return rows
}

/**
 * Serves reads of past states that another thread requests through a port, several concurrently. A `stop` message
 * aborts one read at its next step, `close` aborts all. Resolves when no read is running after `close`.
 */
export const answerReads = (port: MessagePort, reads: AsOfReads): Promise<void> => {
  const running = new Map<number, AbortController>()
  const respond = (response: ThreadResponse) => port.postMessage(response)

  const read = async ([, op, args]: Reading, signal: AbortSignal) => {
    if (op === 'rows') return texts(reads, [...args, signal], signal)
    return op === 'tokens' ? reads.tokens(...args, signal) : reads.positionOf(...args, signal)
  }
  return new Promise((resolve) => {
    let closing = false
    const ended = () => void (closing && running.size === 0 && resolve())
    const answer = async (asked: Reading): Promise<void> => {
      const [id] = asked
      const stop = new AbortController()
      running.set(id, stop)
      try {
        respond([id, { value: await read(asked, stop.signal) }])
      } catch (error) {
        respond([id, failedBy(error)])
      }
      running.delete(id)
      ended()
    }
    port.on('message', (asked: ThreadRequest) => {
      if (asked === 'close') {
        closing = true
        for (const stop of running.values()) stop.abort(new Refusal('backend_unavailable'))
        ended()
      } else if (asked[1] === 'stop') running.get(asked[0])?.abort(new Refusal('cancelled'))
      else void answer(asked)
    })
  })
}
