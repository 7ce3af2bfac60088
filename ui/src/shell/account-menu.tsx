import { Menu } from '@base-ui/react/menu'
import { useNavigate } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { useAccess } from '../api/access.ts'
import { isLogin } from '../identity.ts'
import { methodOf } from '../login-methods.ts'
import { Safe } from '../parts/feedback/safe.tsx'
import { closing } from '../parts/loaded.ts'
import { instantWords } from '../parts/moment.ts'
import { usePreferences } from '../preferences.ts'
import { signOut, useIdentity, useSession } from '../session.tsx'
import { access as words } from '../words/access.ts'
import { methodWords } from '../words/methods.ts'
import { shell } from '../words/shell.ts'

/** Maximum number of grants in the menu. */
const TOLD = 8

/** Describes the rights of the signed-in identity once they are known. */
const OwnAccess = () => {
  const { access } = useAccess()
  if (!access) return null
  if (access.full) return <span>{words.full}</span>
  const { grants = [] } = access
  return (
    <>
      {grants.slice(0, TOLD).map((grant, n) => (
        <span key={n} className="tight">
          <Safe text={words.grant(grant)} />
          <span className="muted small">{words.youCan(grant.rights)}</span>
        </span>
      ))}
      {grants.length > TOLD && <span>{words.more(grants.length - TOLD)}</span>}
    </>
  )
}

/** Menu of the account, anchored to its button. */
export const AccountMenu = ({
  button,
  place,
  onClose,
  onShortcuts,
}: {
  readonly button: RefObject<HTMLElement | null>
  /** Portal container inside the banner, next to the button. */
  readonly place: RefObject<HTMLElement | null>
  readonly onClose: () => void
  readonly onShortcuts: () => void
}) => {
  const session = useSession()
  const name = useIdentity()
  const { zone } = usePreferences()
  const navigate = useNavigate()
  const { authentication, authenticated, sessionEndsAt } = session
  return (
    <Menu.Root open onOpenChange={closing(button, onClose)}>
      <Menu.Portal container={place}>
        <Menu.Positioner className="popup-place" anchor={button} align="end" sideOffset={6}>
          <Menu.Popup className="popup" finalFocus={button}>
            {authentication && (
              <div className="about tight">
                <strong>
                  <Safe text={name} />
                </strong>
                <OwnAccess />
                <span className="muted small">{shell.signedInWith(methodWords[methodOf(authentication)].with)}</span>
                {sessionEndsAt !== undefined && (
                  <span className="muted small">{shell.ends(instantWords(sessionEndsAt, zone))}</span>
                )}
              </div>
            )}
            <Menu.Item className="item" onClick={() => void navigate({ to: '/settings/preferences' })}>
              {shell.preferences}
            </Menu.Item>
            <Menu.Item className="item" onClick={onShortcuts}>
              {shell.shortcuts}
            </Menu.Item>
            {authenticated ? (
              <Menu.Item className="item" onClick={() => void signOut(session)}>
                {authentication && isLogin(authentication) ? shell.signOut : shell.signOutToken}
              </Menu.Item>
            ) : (
              <Menu.Item className="item" onClick={() => void navigate({ to: '/login' })}>
                {shell.signIn}
              </Menu.Item>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
