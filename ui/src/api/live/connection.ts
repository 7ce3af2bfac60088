import { type EventFilters, feedFor, filtersOf, nameOf } from './feed.ts'
import { leading, type Report } from './leader.ts'

/** Message between the live pages of a browser. `wanted`: a page came, went, or wants other events. */
type Message = Report | { readonly kind: 'wanted' }

/** Name of the lock of the connection, and of the channel. The lock of each live page begins with it. */
const NAME = 'rollcall-live'
const PAGE = `${NAME}:`
/** Time (ms) after which the leading page reads the locks again, because the page of a lock may have crashed. */
const LOOK_MS = 30_000

/** Filters of all live pages of the browser. Each page holds a lock with its filters in the name. */
const wantedFilters = async (): Promise<readonly EventFilters[]> => {
  const { held = [] } = await navigator.locks.query()
  return held.flatMap(({ name = '' }) => (name.startsWith(PAGE) ? [filtersOf(name.slice(PAGE.length))] : []))
}

/** Uses a lock, as soon as it is free. Does nothing if the signal aborts before. */
const withLock = async (name: string, mode: LockMode, signal: AbortSignal, use: () => Promise<void>): Promise<void> => {
  try {
    await navigator.locks.request(name, { mode, signal }, use)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

type Page = {
  readonly filters: EventFilters
  readonly isAuditor: boolean
  /** Index up to which the page has counted events. */
  readonly through: () => number
}

/** Whether pages can share a connection. A page that came by plain HTTP has no locks. */
export const canShare = (): boolean => 'locks' in navigator

/**
 * Takes part in the one live connection of the browser (docs/decisions/0046). The page with the lock `rollcall-live`
 * opens it and sends its reports to the others, also to `onReport`.
 */
export const sharedConnection = (page: Page, onReport: (report: Report) => void) => {
  const channel = new BroadcastChannel(NAME)
  let part: AbortController | undefined
  let leader: ReturnType<typeof leading> | undefined
  /** Number of connections of the page that are open or still hold their locks. */
  let parts = 0
  let isOver = false

  const receive = (message: Message): void => {
    if (message.kind === 'wanted') leader?.look()
    else if (part) onReport(message)
  }
  const send = (message: Message): void => {
    channel.postMessage(message)
    receive(message)
  }
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => receive(data))
  const lead = async (signal: AbortSignal): Promise<void> => {
    const feedNow = async () => feedFor(page, await wantedFilters())
    const mine = leading(page.through(), feedNow, send, signal)
    leader = mine
    const timer = window.setInterval(mine.look, LOOK_MS)
    await mine.ended
    window.clearInterval(timer)
    leader = undefined
  }
  return {
    join: (): void => {
      const mine = new AbortController()
      part = mine
      parts++
      const { signal } = mine
      const wanting = withLock(`${PAGE}${nameOf(page.filters)}`, 'shared', signal, () => {
        send({ kind: 'wanted' })
        return aborted(signal)
      })
      const connection = withLock(NAME, 'exclusive', signal, () => lead(signal))
      void Promise.all([wanting, connection]).then(() => {
        parts--
        send({ kind: 'wanted' })
        if (isOver && parts === 0) channel.close()
      })
    },
    leave: (): void => {
      part?.abort()
      part = undefined
    },
    /** Leaves for good. */
    close: (): void => {
      isOver = true
      part?.abort()
      part = undefined
      if (parts === 0) channel.close()
    },
  }
}
