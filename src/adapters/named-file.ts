import { unreadFor } from '../regular-file.ts'

/** What is wrong with a file that an address names; undefined where it can be read. */
export const wrongWithFile = (path: string): string | undefined => {
  const why = unreadFor(path)
  return why === undefined ? undefined : `names a file that cannot be read (${why}): ${path}`
}
