import { plainHttp } from '../../src/auth/hosts.ts'
import type { Reach } from '../../src/auth/outgoing.ts'

/** Without a proxy or an authority of one's own, and in plain http on this machine alone. */
export const directly: Reach = { proxyOf: () => undefined, mayBeHttp: plainHttp([]) }
