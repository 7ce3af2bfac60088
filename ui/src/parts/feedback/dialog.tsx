import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, type RefObject, useState } from 'react'

/** Returns the element to focus after the dialog closes. */
export type WayBack = () => HTMLElement | null

type DialogProps = {
  readonly title: ReactNode
  readonly open: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  /** Whether only its own buttons close it. */
  readonly firm?: boolean
  readonly drawer?: boolean
  readonly initialFocus?: RefObject<HTMLElement | null>
  /** Overrides the element that had the focus on opening, for dialogs in sequence. */
  readonly back?: WayBack | undefined
}

/** Dialog, labelled by its heading. A click outside never closes it; Escape closes it unless `firm`. */
export const Dialog = ({
  title,
  open,
  onClose,
  children,
  firm = false,
  drawer = false,
  initialFocus,
  back,
}: DialogProps) => (
  <Base.Root
    open={open}
    disablePointerDismissal
    onOpenChange={(next, details) => {
      if (next) return
      if (firm && details.reason === 'escape-key') details.cancel()
      else onClose()
    }}
  >
    <Base.Portal>
      <Base.Backdrop className="backdrop" />
      <Base.Popup
        className={drawer ? 'dialog drawer' : 'dialog'}
        {...(initialFocus && { initialFocus })}
        {...(back && { finalFocus: back })}
        onKeyDown={(event) => {
          // A dialog below must not receive the key either.
          if (firm && event.key === 'Escape') event.stopPropagation()
        }}
      >
        <Base.Title>{title}</Base.Title>
        {children}
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
)

const rows = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>('main tbody tr')]

/** Delay (ms) for the page to render the result of a dialog. */
const DRAWN_MS = 50

/**
 * Restores the focus to the element that had it. If that element is gone, the row now at its position gets the focus,
 * else the heading.
 */
const wayBack = (): WayBack => {
  const opener = document.activeElement
  const at = rows().findIndex((row) => row.contains(opener))
  const next = () =>
    rows()[at]?.querySelector<HTMLElement>('th a, a, button') ?? document.querySelector<HTMLElement>('main h1')
  return () => {
    window.setTimeout(() => {
      if (document.activeElement === document.body) next()?.focus()
    }, DRAWN_MS)
    return opener instanceof HTMLElement && opener.isConnected ? opener : next()
  }
}

/** Focus target after dialogs in sequence, taken when the first opens. */
export const useWayBack = (): WayBack => useState(wayBack)[0]

/** Modal alert dialog. */
export const Ask = ({ title, open, onClose, children, back }: DialogProps) => {
  const [own, setOwn] = useState(wayBack)
  const [was, setWas] = useState(open)
  if (open !== was) {
    setWas(open)
    if (open) setOwn(() => wayBack())
  }
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog" finalFocus={back ?? own}>
          <AlertDialog.Title>{title}</AlertDialog.Title>
          {children}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

/** Buttons at the end of a dialog. */
export const Actions = ({ children }: { readonly children: ReactNode }) => <div className="actions">{children}</div>
