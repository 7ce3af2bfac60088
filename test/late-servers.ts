import type { Fields } from './start.ts'

/** On a busy machine any server may answer late. The resulting refusals and log lines of an instance are not faults. */

type Given = { readonly status: number; readonly text: string }
const SERVERS = ['eventstoredb', 'mongodb', 'redis']
const REASONS = ['view_behind', 'backend_unavailable']

/** Whether a request was refused because a server was late. A refused write may still take effect. */
export const isLate = ({ status, text }: Given): boolean =>
  status === 503 && ['auth_stale', ...REASONS].some((reason) => text.includes(`"${reason}"`))

/**
 * Whether the request can be repeated safely: it was a read, it has an idempotency key, or freshness could not be
 * proven.
 */
export const isForNow = (method: string, given: Given, hasKey = false): boolean =>
  isLate(given) && (method === 'GET' || hasKey || given.text.includes('"auth_stale"'))

const isOfLateServer = ({ port, adapter, err }: Fields): boolean =>
  (port !== undefined && SERVERS.includes(String(adapter))) ||
  REASONS.includes((err as { readonly reason?: string } | undefined)?.reason ?? '')

/** Returns the ERROR lines of a log, except those about a late server, which name it or have it as cause. */
export const ownFaults = (logged: string): readonly Fields[] =>
  logged
    .split('\n')
    .filter((line) => line.includes('"level":"ERROR"'))
    .map((line) => JSON.parse(line) as Fields)
    .filter((line) => !isOfLateServer(line))
