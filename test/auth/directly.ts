import { plainHttp } from '../../src/auth/outgoing/hosts.ts'
import type { Reach } from '../../src/auth/outgoing/outgoing.ts'

/** Direct connection: no proxy, no extra authority, plain http on loopback only. */
export const directly: Reach = { proxyOf: () => undefined, mayBeHttp: plainHttp([]) }
