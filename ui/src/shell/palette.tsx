import { type KeyboardEvent, type MouseEvent, useId, useRef, useState } from 'react'
import { Dialog } from '../parts/feedback/dialog.tsx'
import { CodeText, Safe } from '../parts/feedback/safe.tsx'
import { shownKeys } from '../words/keys.ts'
import { palette as words } from '../words/palette.ts'
import { type Command, useCommands } from './commands.ts'
import { useFound } from './found.ts'

/** Whether the browser handles the click itself, for example to open a new tab. */
const isAside = ({ ctrlKey, metaKey, shiftKey }: MouseEvent): boolean => ctrlKey || metaKey || shiftKey

const Option = ({
  id,
  command: { words, detail, keys, why, href },
  chosen,
  onRun,
}: {
  readonly id: string
  readonly command: Command
  readonly chosen: boolean
  readonly onRun: () => void
}) => {
  const option = {
    id,
    role: 'option',
    tabIndex: -1,
    className: 'item',
    'aria-selected': chosen,
    'aria-disabled': why !== undefined || undefined,
    'data-highlighted': chosen || undefined,
    onClick: (event: MouseEvent) => {
      if (href !== undefined && why === undefined && isAside(event)) return
      event.preventDefault()
      onRun()
    },
  } as const
  const content = (
    <>
      <span className={why === undefined ? undefined : 'muted'}>
        <Safe text={words} />
      </span>
      {detail !== undefined && detail !== words && <CodeText look="muted" text={detail} />}
      {why !== undefined && <span className="muted small">{why}</span>}
      {keys !== undefined && <kbd className="push">{shownKeys(keys)}</kbd>}
    </>
  )
  return href === undefined ? (
    <button type="button" {...option}>
      {content}
    </button>
  ) : (
    <a href={href} {...option}>
      {content}
    </a>
  )
}

const order = [words.goTo, words.flags, words.segments, words.tokens, words.actions]

const optionId = (id: string, n: number): string => `${id}-${n}`

/** List of the found commands, by group. */
const Results = ({
  id,
  groups,
  shown,
  present,
  onRun,
}: {
  readonly id: string
  readonly groups: readonly string[]
  readonly shown: readonly Command[]
  readonly present: number
  readonly onRun: (command: Command) => void
}) => {
  const headId = (group: string) => `${id}-group-${groups.indexOf(group)}`
  return (
    <div id={`${id}-list`} role="listbox" aria-label={words.results} className="results" tabIndex={-1}>
      {groups.map((name) => (
        <div key={name} role="group" aria-labelledby={headId(name)}>
          <div className="group-name" id={headId(name)} role="presentation">
            {name}
          </div>
          {shown.map((command, n) =>
            command.group === name ? (
              <Option
                key={command.id}
                id={optionId(id, n)}
                command={command}
                chosen={n === present}
                onRun={() => onRun(command)}
              />
            ) : null,
          )}
        </div>
      ))}
    </div>
  )
}

/** Command palette: finds pages, actions of the page, and search results of the service (ui.md §5). */
export const Palette = ({
  onClose,
  onShortcuts,
}: {
  readonly onClose: () => void
  readonly onShortcuts: () => void
}) => {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const commands = useCommands(onShortcuts)
  const { commands: served, searching, failed } = useFound(typed)
  const wanted = typed.trim().toLocaleLowerCase()
  const found = [...commands.filter(({ words }) => words.toLocaleLowerCase().includes(wanted)), ...served]
  const groups = order.filter((name) => found.some(({ group }) => group === name))
  const shown = groups.flatMap((name) => found.filter(({ group }) => group === name))
  const present = Math.min(at, shown.length - 1)

  const run = (command: Command | undefined, aside = false) => {
    if (!command || command.why !== undefined) return
    if (aside && command.href !== undefined) return void window.open(command.href, '_blank', 'noopener')
    onClose()
    command.run()
  }
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && shown.length > 0) {
      event.preventDefault()
      const next = (present + by + shown.length) % shown.length
      setAt(next)
      document.getElementById(optionId(id, next))?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(shown[present], event.ctrlKey || event.metaKey)
    }
  }
  return (
    <Dialog title={words.title} open onClose={onClose} initialFocus={field}>
      <input
        ref={field}
        className="input"
        aria-label={words.field}
        placeholder={words.field}
        value={typed}
        autoComplete="off"
        spellCheck={false}
        aria-controls={`${id}-list`}
        aria-activedescendant={shown.length > 0 ? optionId(id, present) : undefined}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <Results id={id} groups={groups} shown={shown} present={present} onRun={run} />
      <p className="hint" role="status">
        {failed ? words.failed : searching ? words.searching : shown.length === 0 ? words.nothing : words.help}
      </p>
    </Dialog>
  )
}
