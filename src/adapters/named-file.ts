import { accessSync, constants } from 'node:fs'

/** What is wrong with a file that an address names; undefined where it can be read. */
export const wrongWithFile = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK)
    return undefined
  } catch (error) {
    return `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): ${path}`
  }
}
