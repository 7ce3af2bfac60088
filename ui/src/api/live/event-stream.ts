import { openStream } from '../request.ts'

/** Time (ms) without a byte after which a stream counts as lost; the service sends one every 15 s. */
const SILENT_MS = 45_000

/** Block of a stream: the index up to which the service has examined the log, and whether it has an event there. */
type Block = { readonly index: number; readonly isEvent: boolean }

const blockOf = (text: string): Block | undefined => {
  const index = /^id: (\d+)$/m.exec(text)?.[1]
  return index === undefined ? undefined : { index: Number(index), isEvent: /^data: /m.test(text) }
}

/** Splits the text of a stream into its blocks, and keeps an unfinished one. */
const splitter = () => {
  const decoder = new TextDecoder()
  let rest = ''
  return (bytes: Uint8Array): readonly string[] => {
    const texts = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = texts.pop() ?? ''
    return texts
  }
}

/**
 * Reads a live stream of events (api.md §16.9) after an index until it ends, breaks, or is silent for 45 s. `onOpen` is
 * called before the first block, `onBlocks` with the blocks of each chunk. Throws a `Failure` if it is refused.
 */
export const readEventStream = async (
  path: string,
  after: number,
  signal: AbortSignal,
  { onOpen, onBlocks }: { readonly onOpen: () => void; readonly onBlocks: (blocks: readonly Block[]) => void },
): Promise<void> => {
  const silent = new AbortController()
  let timer: number | undefined
  const listen = () => {
    window.clearTimeout(timer)
    timer = window.setTimeout(() => silent.abort(), SILENT_MS)
  }
  listen()
  try {
    const stream = await openStream(path, after, AbortSignal.any([signal, silent.signal]))
    onOpen()
    const split = splitter()
    const reader = stream.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      listen()
      const blocks = split(value).flatMap((text) => blockOf(text) ?? [])
      if (blocks.length > 0) onBlocks(blocks)
    }
  } finally {
    window.clearTimeout(timer)
  }
}
