/** Receives messages of long work for the user. */
export type Say = (line: string) => void
/** Progress of long work, with the number of its units that are done, and of all. */
export type Progress = { readonly name: string; readonly done: number; readonly total: number }
export type OnProgress = (progress: Progress) => void

/** The pages, with a call of `onPage` after each one: its items, and the number of all items so far. */
export async function* watched<T>(
  pages: AsyncIterable<readonly T[]>,
  onPage: (page: readonly T[], done: number) => void,
): AsyncGenerator<readonly T[]> {
  let done = 0
  for await (const page of pages) {
    yield page
    onPage(page, (done += page.length))
  }
}
