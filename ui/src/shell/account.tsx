import { PersonIcon } from '@primer/octicons-react'
import { useRef } from 'react'
import { Safe } from '../parts/feedback/safe.tsx'
import { useLoaded } from '../parts/loaded.ts'
import { useIdentity } from '../session.tsx'
import { shell } from '../words/shell.ts'

/** Button with the signed-in identity that opens the account menu. */
export const Account = ({ onShortcuts }: { readonly onShortcuts: () => void }) => {
  const name = useIdentity()
  const button = useRef<HTMLButtonElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const { part: Menu, open, show, close } = useLoaded(async () => (await import('./account-menu.tsx')).AccountMenu)
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button plain"
        aria-label={shell.account(name)}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={open ? close : show}
      >
        <PersonIcon />
        <span className="wide-only">
          <Safe text={name} />
        </span>
      </button>
      <div ref={place} className="popup-host" />
      {Menu && <Menu button={button} place={place} onClose={close} onShortcuts={onShortcuts} />}
    </>
  )
}
