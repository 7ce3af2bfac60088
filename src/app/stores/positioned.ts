import type { Stored } from '../../events/log.ts'

/** Pages of a log, with the position of the last event that was read. */
export const positioned = (pages: AsyncIterable<readonly Stored[]>) => {
  let last = 0n
  return {
    position: () => last,
    pages: (async function* () {
      for await (const page of pages) {
        last = page.at(-1)?.position ?? last
        yield page
      }
    })(),
  }
}
