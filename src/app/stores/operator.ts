import { hostname, userInfo } from 'node:os'
import type { Actor } from '../../events/meta.ts'

const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that no name is known of.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Who works at the command line of this machine: the system's name of the user, and the machine's. */
export const operator = (): Actor => ({ kind: 'operator', user: userName(), host: hostname() })
