import { type RefObject, useState } from 'react'
import { noteReach } from '../api/reach.ts'

/** A part of the shell that is loaded when it is first wanted. Where it cannot be had the page goes on without it, and says that the service is away. */
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

/** Closes what stands beside a button; a press of the button itself is the button's own affair. */
export const closing =
  (button: RefObject<HTMLElement | null>, onClose: () => void) =>
  (open: boolean, { event, cancel }: Details): void => {
    if (open) return
    if (event.target instanceof Node && button.current?.contains(event.target)) cancel()
    else onClose()
  }
