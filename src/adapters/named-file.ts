import { unreadFor } from '../base/regular-file.ts'

/** Problem with a file that an address names; undefined if it is readable. */
export const wrongWithFile = (path: string): string | undefined => {
  const why = unreadFor(path)
  return why === undefined ? undefined : `names a file that cannot be read (${why}): ${path}`
}
