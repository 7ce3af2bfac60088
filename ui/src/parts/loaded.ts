import { type RefObject, useEffect, useState } from 'react'
import { noteReach } from '../api/reach.ts'

/**
 * Loads a part of the shell once it is wanted. If loading fails, the page continues and the service is marked as
 * unreachable.
 */
export const usePart = <C>(load: () => Promise<C>, wanted: boolean): { readonly part: C | undefined } => {
  const [part, setPart] = useState<{ readonly is: C } | undefined>()
  useEffect(() => {
    if (wanted && !part)
      load().then(
        (is) => setPart({ is }),
        () => noteReach('away'),
      )
  }, [load, wanted, part])
  return { part: part?.is }
}

/**
 * Loads a part of the shell on first use. If loading fails, the page continues and the service is marked as
 * unreachable.
 */
export const useLoaded = <C>(load: () => Promise<C>) => {
  const [part, setPart] = useState<{ readonly is: C } | undefined>()
  const [open, setOpen] = useState(false)
  const show = async () => {
    try {
      const is = part?.is ?? (await load())
      setPart({ is })
      setOpen(true)
    } catch {
      noteReach('away')
    }
  }
  return { part: open ? part?.is : undefined, open, show: () => void show(), close: () => setOpen(false) }
}

type Details = { readonly event: Event; readonly cancel: () => void }

/** Closes a popover. A click on its button is ignored here because the button handles it. */
export const closing =
  (button: RefObject<HTMLElement | null>, onClose: () => void) =>
  (open: boolean, { event, cancel }: Details): void => {
    if (open) return
    if (event.target instanceof Node && button.current?.contains(event.target)) cancel()
    else onClose()
  }
