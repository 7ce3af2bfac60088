import { hostname, userInfo } from 'node:os'
import type { Actor } from '../../events/meta.ts'

const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    // A container may run under a uid without a user name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** The operator at the command line: the user name and the host name. */
export const operator = (): Actor => ({ kind: 'operator', user: userName(), host: hostname() })
