import { Refusal } from '../../../base/errors.ts'
import type { Views } from '../../../projections/views.ts'
import { DAMAGED } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { EmbeddedViews } from './views.ts'

/** Rebuild of damaged read models while the service runs. */
export type Renewal = {
  /** True unless the file is damaged or a rebuild is unfinished. */
  readonly isWhole: () => boolean
  /** Opens an empty file in place of the damaged one; returns its views to the builder. */
  readonly begin: () => Promise<Views>
  /** Called when all views are built. From then on the projections add new events to them. */
  readonly built: () => void
  /**
   * Called when the views contain every event that the log had at the end of the build. From then on requests may read
   * the views.
   */
  readonly done: () => void
}

/** The current file of the views, for threads that read it directly. */
export type ViewsFile = {
  /** Number of the current file of the views; undefined while no file is open. */
  readonly era: () => number | undefined
  /** Refuses with `view_behind` unless the views are whole. */
  readonly insist: () => void
}

/** Views of one file and the close function of their connection. */
type Opened = { readonly views: EmbeddedViews; readonly close: () => void }

/** `read`: operations of requests, which need complete views. `written`: operations of the projections. */
const read = ['get', 'list', 'values', 'tally'] as const
const written = ['getMany', 'put', 'checkpoint', 'mark', 'totals', 'newest', 'build', 'flushed'] as const

type Operation = (typeof read)[number] | (typeof written)[number]

/**
 * Port of the read models over the current file. Operations are refused with `behind` while the views are unavailable
 * or damaged.
 */
const portOver = (
  current: () => EmbeddedViews,
  isOpen: (own: boolean) => boolean,
  behind: () => Refusal,
  records: Pick<Views, 'record' | 'records' | 'swapRecord'>,
): EmbeddedViews => {
  const through =
    (operation: Operation, own: boolean) =>
    async (...args: readonly unknown[]) => {
      if (!isOpen(own)) throw behind()
      try {
        return await (current()[operation] as (...args: readonly unknown[]) => Promise<unknown>)(...args)
      } catch (error) {
        throw isOpen(own) ? error : behind()
      }
    }
  const all = <K extends Operation>(names: readonly K[], own: boolean) =>
    Object.fromEntries(names.map((name) => [name, through(name, own)])) as unknown as Pick<EmbeddedViews, K>
  return {
    ...all(read, false),
    ...all(written, true),
    scan: async function* <D extends object>(...args: Parameters<Views['scan']>) {
      if (!isOpen(false)) throw behind()
      try {
        yield* current().scan<D>(...args)
      } catch (error) {
        throw isOpen(false) ? error : behind()
      }
    },
    ...records,
    close: () => current().close(),
  }
}

/** Views over a file that can be replaced. `open` opens the current file and passes damage to its listener. */
export const renewableViews = async (
  channel: Pick<Channel, 'renewViews' | 'loseViews'>,
  records: Pick<Views, 'record' | 'records' | 'swapRecord'>,
  open: (onDamage: (error: Error) => void) => Promise<Opened>,
  onDamage: (error: Error) => void,
) => {
  let state: 'whole' | 'damaged' | 'building' | 'following' = 'whole'
  let era = 0
  let why: Error | undefined

  const damaged = (error: Error, of = era): void => {
    if (state === 'damaged' || of !== era) return
    state = 'damaged'
    why = error
    channel.loseViews(error)
    onDamage(error)
  }
  const opening = async (): Promise<Opened> => {
    const of = era
    return open((error) => damaged(error, of))
  }
  const behind = () =>
    new Refusal('view_behind', 'the read models were damaged and are built anew', {
      headers: { 'retry-after': '1' },
      cause: why,
    })
  const insist = (): void => {
    if (state !== 'whole') throw behind()
  }
  const isOpen = (own: boolean) => state === 'whole' || (own && state === 'following')

  let current = await opening()
  let retired = false

  const views = portOver(() => current.views, isOpen, behind, records)

  const renewal: Renewal = {
    isWhole: () => state === 'whole',
    begin: async () => {
      if (!retired) {
        retired = true
        void current.views.close()
        current.close()
      }
      era++
      try {
        await channel.renewViews()
        current = await opening()
      } catch (error) {
        const cause = error instanceof Refusal ? error.cause : error
        if (cause instanceof Error && 'code' in cause && cause.code === DAMAGED) onDamage(cause)
        throw error
      }
      retired = false
      state = 'building'
      return current.views
    },
    built: () => {
      if (state !== 'building') throw behind()
      state = 'following'
    },
    done: () => {
      if (state !== 'following') throw behind()
      state = 'whole'
    },
  }
  const file: ViewsFile = { era: () => (state === 'damaged' ? undefined : era), insist }
  return { views, renewal, file, damaged, close: () => (retired ? undefined : current.close()) }
}
