import { randomUUID } from 'node:crypto'
import type { EventLog, NewEvent } from '../src/events/log.ts'
import { METHODS } from '../src/events/token.ts'
import { history } from '../src/history/history.ts'
import type { Views } from '../src/projections/views.ts'
import { progress } from './measure.ts'

const NAMESPACES = 20
const FLAGS = 500
const CALLERS = Array.from({ length: 50 }, () => randomUUID())
const AT_ONCE = 500

const newEvent = (n: number, type: string, command: string, data: object): NewEvent => {
  const requestId = randomUUID()
  const actor = { kind: 'token', id: CALLERS[n % CALLERS.length], method: 'token' }
  const meta = { schema: 1, actor, command, correlationId: requestId, instance: 'i-1', requestId, route: `/${command}` }
  return {
    id: randomUUID(),
    type,
    time: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    data: JSON.stringify(data),
    meta: JSON.stringify(meta),
  }
}

/** Stream and event of the n-th append: seven of ten issue a token, two change a flag, one is a refusal. */
const appendOf = (n: number, revisions: Map<string, bigint>) => {
  const kind = n % 10
  const namespace = `ns-${n % NAMESPACES}`
  const id = randomUUID()
  if (kind < 7) {
    const method = METHODS[n % METHODS.length]
    const data = { digest: randomUUID(), id, method, namespace, provider: `p-${n % 7}`, subject: `person-${n % 9999}` }
    return { stream: `token-${id}`, event: newEvent(n, 'TokenIssued', 'IssueToken', data), expected: 'none' as const }
  }
  if (kind < 9) {
    const key = `flag-${n % FLAGS}`
    const stream = `flag-${namespace}+${key}`
    const revision = revisions.get(stream) ?? -1n
    revisions.set(stream, revision + 1n)
    const type = n % 5000 === 8 ? 'FlagDeleted' : 'FlagUpdated'
    const event = newEvent(n, type, 'UpdateFlag', { namespace, key, enabled: { from: false, to: true } })
    return { stream, event, expected: revision < 0n ? ('none' as const) : revision }
  }
  const reason = n % 100_000 === 9 ? 'right_missing' : 'credential_invalid'
  const event = newEvent(n, 'AuthenticationRefused', 'Refuse', { reason, route: '/api/v1/x', tokenId: id })
  return { stream: `refusal-2026-01-01+${id}`, event, expected: 'none' as const }
}

/** Appends events of all kinds to an empty log. */
export const appendHistory = async (log: EventLog, events: number): Promise<void> => {
  const revisions = new Map<string, bigint>()
  for (let n = 0; n < events; ) {
    const batch: Promise<unknown>[] = []
    for (const end = Math.min(events, n + AT_ONCE); n < end; n++) {
      const { stream, event, expected } = appendOf(n, revisions)
      batch.push(log.append(stream, [event], expected))
    }
    await Promise.all(batch)
  }
}

/** Reader of the history of a store with this number of events, and the place of the newest. */
export const readerOf = async (
  { log, views }: { readonly log: EventLog; readonly views: Views },
  key: Uint8Array,
  events: number,
) => {
  const head = { index: events - 1, position: await log.head() }
  const reader = history({
    log,
    views,
    key,
    seen: async () => true,
    counted: () => ({ position: head.position, events }),
    onDamage: (what) => progress(`damaged: ${what}`),
  })
  return { head, reader }
}
