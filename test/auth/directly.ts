import { plainHttp } from '../../src/auth/hosts.ts'
import type { Reach } from '../../src/auth/outgoing.ts'

/** Direct connection: no proxy, no extra authority, plain http on loopback only. */
export const directly: Reach = { proxyOf: () => undefined, mayBeHttp: plainHttp([]) }
