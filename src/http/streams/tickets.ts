import { createHmac, timingSafeEqual } from 'node:crypto'

const DAY_MS = 86_400_000

/** Form of a ticket: its day, the id of its token, and 128 bits of HMAC-SHA256. */
const FORM = /^(\d{1,6})\.([\w-]{1,64})\.[\w-]{22}$/

/**
 * Tickets of event streams (api.md §10), because the `EventSource` of a browser sends no header. A ticket is the same
 * text for one token, namespace and day. It is valid on its day and on the next one.
 */
export const streamTickets = (key: Uint8Array, now: () => Date) => {
  const today = (): number => Math.floor(now().getTime() / DAY_MS)
  const written = (day: number, id: string, namespace: string): string => {
    const mac = createHmac('sha256', key).update(`stream|${day}|${id}|${namespace}`).digest().subarray(0, 16)
    return `${day}.${id}.${mac.toString('base64url')}`
  }
  return {
    /** Number of the present day since 1970. */
    today,
    write: (id: string, namespace: string): string => written(today(), id, namespace),
    /** Id of the token for which a ticket of this namespace was written; undefined for every other text. */
    read: (ticket: string, namespace: string): string | undefined => {
      const [, day, id] = FORM.exec(ticket) ?? []
      // The clock of another instance may be in the next day.
      if (id === undefined || Math.abs(today() - Number(day)) > 1) return undefined
      const [given, due] = [Buffer.from(ticket), Buffer.from(written(Number(day), id, namespace))]
      return given.length === due.length && timingSafeEqual(given, due) ? id : undefined
    },
  }
}
export type StreamTickets = ReturnType<typeof streamTickets>
