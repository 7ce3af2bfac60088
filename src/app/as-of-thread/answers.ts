import type { MessagePort } from 'node:worker_threads'
import type { AsOfReads } from '../../as-of/reads.ts'
import { Refusal } from '../../errors.ts'
import { failedBy, PIECE, type ThreadRequest, type ThreadResponse, textOf } from './messages.ts'

type Reading = Exclude<ThreadRequest, 'close' | readonly [number, 'stop']>

/** Rows of the first so many documents, until they are a piece. */
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
 * Reads what another thread asks for through a port, several at once. One that is to stop does so at its next step, and so do all when it is
 * over: resolves once they have, and nothing is read any more.
 */
export const answerReads = (port: MessagePort, reads: AsOfReads): Promise<void> => {
  const running = new Map<number, AbortController>()
  const said = (heard: ThreadResponse) => port.postMessage(heard)

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
        said([id, { value: await read(asked, stop.signal) }])
      } catch (error) {
        said([id, failedBy(error)])
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
