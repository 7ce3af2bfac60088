import { Menu } from '@base-ui/react/menu'
import { KebabHorizontalIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { flagPath } from '../../api/flags.ts'
import { query } from '../../api/request.ts'
import { useAt } from '../../at.ts'
import { IconButton } from '../../parts/button.tsx'
import { curlOf, rollcallOf } from '../../parts/command-line.ts'
import { flag } from '../../words/flag.ts'

const words = flag.menu

/** Menu of the secondary actions of a flag. */
export const FlagMenu = ({
  namespace,
  name,
  why,
  onCopy,
  onDelete,
}: {
  readonly namespace: string
  /** Key of the flag. */
  readonly name: string
  readonly why: string | undefined
  readonly onCopy: (text: string, thing: string) => void
  readonly onDelete: () => void
}) => {
  const at = useAt()
  const place = useRef<HTMLSpanElement>(null)
  const curl = () => curlOf(`${flagPath(namespace, name)}${query({ at })}`)
  const command = () => {
    const moment = at === undefined ? [] : [`--at=${at}`]
    return rollcallOf(['flag', 'get'], [`--namespace=${namespace}`, ...moment], name)
  }
  return (
    <span ref={place} className="page-menu">
      <Menu.Root>
        <Menu.Trigger render={<IconButton name={words.open} icon={<KebabHorizontalIcon />} />} />
        <Menu.Portal container={place}>
          <Menu.Positioner className="popup-place" align="end" sideOffset={6}>
            <Menu.Popup className="popup">
              <Menu.Item className="item" onClick={() => onCopy(window.location.href, words.things.link)}>
                {words.copyLink}
              </Menu.Item>
              <Menu.Item className="item" onClick={() => onCopy(curl(), words.things.command)}>
                {words.copyCurl}
              </Menu.Item>
              <Menu.Item className="item" onClick={() => onCopy(command(), words.things.command)}>
                {words.copyCommand}
              </Menu.Item>
              <Menu.LinkItem
                className="item"
                closeOnClick
                render={<Link to="/ns/$ns/evaluate" params={{ ns: namespace }} search={{ flag: name }} />}
              >
                {words.evaluate}
              </Menu.LinkItem>
              <Menu.Item className="item" disabled={why !== undefined} aria-description={why} onClick={onDelete}>
                {words.delete}
                {why !== undefined && <span className="muted small">{why}</span>}
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </span>
  )
}
