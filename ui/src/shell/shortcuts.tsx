import { useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { Actions, Dialog } from '../parts/feedback/dialog.tsx'
import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { shortcuts as words } from '../words/shortcuts.ts'

const Keys = ({ keys }: { readonly keys: readonly string[] }) => (
  <span className="bar keys">
    {keys.map((key) => (
      <kbd key={key}>{key}</kbd>
    ))}
  </span>
)

/** List of the keyboard shortcuts. */
export const Shortcuts = ({ onClose }: { readonly onClose: () => void }) => {
  const { singleKeys } = usePreferences()
  const top = useRef<HTMLDivElement>(null)
  return (
    <Dialog title={words.title} open onClose={onClose} initialFocus={top}>
      <div ref={top} tabIndex={-1} className="stack plain-focus">
        {!singleKeys && <p className="notice">{words.off}</p>}
        {words.groups.map(({ name, of }) => (
          <section key={name} className="tight">
            <h3>{name}</h3>
            <dl className="shortcuts">
              {of.map(({ keys, does }) => (
                <div key={does}>
                  <dt>{does}</dt>
                  <dd>
                    <Keys keys={keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Actions>
        <Button onClick={onClose}>{common.close}</Button>
      </Actions>
    </Dialog>
  )
}
