import type { Fields } from './start.ts'

/** On a machine with other work any server may answer late. What an instance on servers refuses then, and what it tells the operator, is no fault of it. */

type Given = { readonly status: number; readonly text: string }
const SERVERS = ['eventstoredb', 'mongodb', 'redis']
const REASONS = ['view_behind', 'backend_unavailable']

/** Whether it refused since a server was late. Of a write that was under way nobody knows whether it was done. */
export const isLate = ({ status, text }: Given): boolean =>
  status === 503 && ['auth_stale', ...REASONS].some((reason) => text.includes(`"${reason}"`))

/** Whether it may be asked again as if nothing had been asked: it knows no proof that every revocation is known to it, or could not read. */
export const isForNow = (method: string, given: Given): boolean =>
  isLate(given) && (method === 'GET' || given.text.includes('"auth_stale"'))

const isOfLateServer = ({ port, adapter, err }: Fields): boolean =>
  (port !== undefined && SERVERS.includes(String(adapter))) ||
  REASONS.includes((err as { readonly reason?: string } | undefined)?.reason ?? '')

/** The ERROR lines of a log but those of a server that was late: these name the server, or have it as the reason why some work failed. */
export const ownFaults = (logged: string): readonly Fields[] =>
  logged
    .split('\n')
    .filter((line) => line.includes('"level":"ERROR"'))
    .map((line) => JSON.parse(line) as Fields)
    .filter((line) => !isOfLateServer(line))
