import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, type RefObject, useState } from 'react'

/** What has the focus once a dialog is closed. */
export type WayBack = () => HTMLElement | null

type DialogProps = {
  readonly title: ReactNode
  readonly open: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  /** It closes by its own buttons alone. */
  readonly firm?: boolean
  readonly drawer?: boolean
  readonly initialFocus?: RefObject<HTMLElement | null>
  /** Where it is not what had the focus as it opened: of several dialogs that follow one another. */
  readonly back?: WayBack | undefined
}

/** A dialog, labelled by its heading. A click beside it never closes it; Escape does, where it is not firm. */
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
          // No other dialog beneath a firm one hears of it either.
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

/** So long after a question the page may still draw what became of it. */
const DRAWN_MS = 50

/** Gives the focus back to what had it; where that goes away with what was answered, to the row that then stands in its place, else to the heading. */
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

/** The way back from dialogs that follow one another, from where the first of them was opened. */
export const useWayBack = (): WayBack => useState(wayBack)[0]

/** A question that must be answered before anything else. */
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

/** The buttons of a dialog, at its end. */
export const Actions = ({ children }: { readonly children: ReactNode }) => <div className="actions">{children}</div>
