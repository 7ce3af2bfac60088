import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { keys as reads } from '../api/keys.ts'
import { nameOf, readTokens } from '../api/tokens.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Safe } from '../parts/safe.tsx'
import { palette as words } from '../words/palette.ts'
import { type Command, useCommands, useGo } from './commands.ts'

const PAUSE_MS = 200
const SHOWN = 5

/** Tokens whose names begin with what was typed, as the service finds them once a person pauses. */
const useTokens = (typed: string): readonly Command[] => {
  const [asked, setAsked] = useState('')
  const go = useGo()
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(typed.trim()), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [typed])
  const { data } = useQuery({
    queryKey: [...reads.tokens, 'palette', asked],
    queryFn: ({ signal }) => readTokens({ kind: 'static', q: asked }, signal),
    enabled: asked !== '',
  })
  if (asked === '') return []
  return (data?.authentications ?? [])
    .slice(0, SHOWN)
    .map((record) =>
      go({ id: record.id, group: words.tokens, words: nameOf(record) }, '/settings/tokens', { q: nameOf(record) }),
    )
}

const Option = ({
  id,
  command: { words, keys, why },
  chosen,
  onRun,
}: {
  readonly id: string
  readonly command: Command
  readonly chosen: boolean
  readonly onRun: () => void
}) => (
  <button
    type="button"
    id={id}
    role="option"
    tabIndex={-1}
    className="item"
    aria-selected={chosen}
    aria-disabled={why !== undefined || undefined}
    data-highlighted={chosen || undefined}
    onClick={onRun}
  >
    <span className={why === undefined ? undefined : 'muted'}>
      <Safe text={words} />
    </span>
    {why !== undefined && <span className="muted small">{why}</span>}
    {keys !== undefined && <kbd className="push">{keys}</kbd>}
  </button>
)

/** Finds every page, every action of the page, and what the service finds under the words typed (ui.md §5). */
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
  const tokens = useTokens(typed)
  const wanted = typed.trim().toLocaleLowerCase()
  const found = [...commands.filter(({ words }) => words.toLocaleLowerCase().includes(wanted)), ...tokens]
  const groups = [words.goTo, words.tokens, words.actions].filter((name) => found.some(({ group }) => group === name))
  const shown = groups.flatMap((name) => found.filter(({ group }) => group === name))
  const present = Math.min(at, shown.length - 1)
  const nameAt = (n: number) => `${id}-${n}`

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
      document.getElementById(nameAt(next))?.scrollIntoView({ block: 'nearest' })
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
        aria-activedescendant={shown.length > 0 ? nameAt(present) : undefined}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <div id={`${id}-list`} role="listbox" aria-label={words.results} className="results" tabIndex={-1}>
        {groups.map((name) => (
          <div key={name} role="group" aria-labelledby={`${id}-${name}`}>
            <div className="group-name" id={`${id}-${name}`} role="presentation">
              {name}
            </div>
            {shown.map((command, n) =>
              command.group === name ? (
                <Option
                  key={command.id}
                  id={nameAt(n)}
                  command={command}
                  chosen={n === present}
                  onRun={() => run(command)}
                />
              ) : null,
            )}
          </div>
        ))}
      </div>
      <p className="hint">{shown.length === 0 ? words.nothing : words.help}</p>
    </Dialog>
  )
}
