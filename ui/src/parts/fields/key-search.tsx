import { Combobox } from '@base-ui/react/combobox'
import { ChevronDownIcon } from '@primer/octicons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ComponentProps, type RefObject, useDeferredValue, useLayoutEffect, useRef, useState } from 'react'
import { Safe } from '../feedback/safe.tsx'

/** Result list of a combobox; `none` is its text if there are no results. */
const FoundKeys = ({
  place,
  none,
  opaque = false,
  nameOf,
}: {
  /** Portal container inside the landmark of its field. */
  readonly place: RefObject<HTMLElement | null>
  readonly none: string
  /** Whether keys are ids that are not shown. */
  readonly opaque?: boolean
  readonly nameOf: (key: string) => string | undefined
}) => (
  <Combobox.Portal container={place}>
    <Combobox.Positioner className="popup-place" positionMethod="fixed" align="start" sideOffset={6}>
      <Combobox.Popup className="popup">
        <Combobox.Empty className="about muted">{none}</Combobox.Empty>
        <Combobox.List>
          {(key: string) => (
            <Combobox.Item key={key} value={key} className="item">
              <span className="found">
                {key !== '' && !opaque && <Safe text={key} />}
                <span className={key === '' || opaque ? undefined : 'muted small'}>
                  <Safe text={nameOf(key) ?? ''} />
                </span>
              </span>
            </Combobox.Item>
          )}
        </Combobox.List>
      </Combobox.Popup>
    </Combobox.Positioner>
  </Combobox.Portal>
)

/** Search result. */
type Found = { readonly key: string; readonly name: string }

/** Search of the service: its query key and its request. */
export type KeySource = {
  readonly queryKey: readonly unknown[]
  readonly read: (typed: string, signal: AbortSignal) => Promise<readonly Found[]>
}

/**
 * Keeps the content around an open listbox visible to assistive technology, because Tab continues there. Base UI hides
 * everything but live regions; `aria-live="off"` makes a silent one.
 */
const useNothingHidden = (open: boolean, place: RefObject<HTMLElement | null>): void =>
  useLayoutEffect(() => {
    const around = open ? (place.current?.closest('[role$=dialog]') ?? document.getElementById('root')) : null
    around?.setAttribute('aria-live', 'off')
    return () => around?.removeAttribute('aria-live')
  }, [open, place])

const searchOf = ({ queryKey, read }: KeySource, text: string) => ({
  queryKey: [...queryKey, 'search', text],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => read(text, signal),
})

type Typing = {
  readonly source: KeySource
  /** Whether a result is the one that a typed text names. */
  readonly isNamed: (found: Found, text: string) => boolean
  readonly onChoice: (key: string) => void
}

/** State of an open list and its typed text. Enter chooses the only result that the text names. */
const useTyping = ({ source, isNamed, onChoice }: Typing) => {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const { data = [] } = useQuery({
    ...searchOf(source, asked),
    enabled: open,
    placeholderData: (before) => before,
  })
  const client = useQueryClient()
  /** Whether an arrow key chose an option after the last typed character. The selected option is highlighted by itself. */
  const moved = useRef(false)
  const chooseNamed = async (field: HTMLInputElement): Promise<void> => {
    const found = await client.fetchQuery(searchOf(source, typed))
    const [only, ...others] = found.filter((one) => isNamed(one, typed))
    if (!only || others.length > 0 || field.value !== typed) return
    setOpen(false)
    setTyped('')
    onChoice(only.key)
  }
  return {
    open,
    typed,
    asked,
    data,
    onOpenChange: (next: boolean, { reason }: { readonly reason: string }): void => {
      setOpen(next)
      // A typed character opens the list after it was received.
      if (!next || reason !== 'input-change') setTyped('')
    },
    onTyped: (text: string, { reason }: { readonly reason: string }): void => {
      if (reason !== 'input-change') return
      moved.current = false
      setTyped(text)
    },
    onKeyDown: (event: Parameters<NonNullable<ComponentProps<typeof Combobox.Input>['onKeyDown']>>[0]): void => {
      if (event.key.startsWith('Arrow')) moved.current = true
      if (event.key !== 'Enter' || typed === '' || moved.current) return
      event.preventDefault()
      event.preventBaseUIHandler()
      // Without an answer nothing is chosen, and the list stays open.
      void chooseNamed(event.currentTarget).catch(() => undefined)
    },
  }
}

/** Combobox that searches the service while the user types; its value is a key. */
export const KeySearch = ({
  value,
  onChange,
  source,
  without = [],
  words,
  all,
  input,
  wide = false,
  shown,
}: {
  readonly value: string
  readonly onChange: (key: string) => void
  readonly source: KeySource
  /** Keys to exclude from the results. */
  readonly without?: readonly string[]
  /** Label of the button that opens the list, and the text if there are no results. */
  readonly words: { readonly open: string; readonly none: string }
  /** Label of the first option, which selects nothing; absent if a key is required. */
  readonly all?: string
  readonly input: React.ComponentProps<'input'>
  readonly wide?: boolean
  /** If keys are opaque ids: the text for the value. The results then show names only. */
  readonly shown?: string
}) => {
  const { open, typed, asked, data, onOpenChange, onTyped, onKeyDown } = useTyping({
    source,
    isNamed: ({ key, name }, text) => !without.includes(key) && (shown === undefined ? key : name) === text,
    onChoice: onChange,
  })
  const place = useRef<HTMLDivElement>(null)
  useNothingHidden(open, place)
  const names = new Map(data.map(({ key, name }) => [key, name]))
  return (
    <Combobox.Root
      items={[...(all !== undefined && asked === '' ? [''] : []), ...names.keys()].filter(
        (key) => !without.includes(key),
      )}
      filter={null}
      open={open}
      onOpenChange={onOpenChange}
      value={value === '' && all === undefined ? null : value}
      inputValue={open ? typed : (shown ?? value)}
      onInputValueChange={onTyped}
      onValueChange={(key) => {
        if (key !== null) onChange(key)
      }}
    >
      <div className={wide ? 'picker wide' : 'picker'} ref={place}>
        <Combobox.Input
          {...input}
          className="input"
          placeholder={(open ? (shown ?? value) : all) || input.placeholder}
          onKeyDown={onKeyDown}
        />
        <Combobox.Trigger className="button icon plain" aria-label={words.open} tabIndex={-1}>
          <ChevronDownIcon />
        </Combobox.Trigger>
      </div>
      <FoundKeys
        place={place}
        none={words.none}
        opaque={shown !== undefined}
        nameOf={(key) => (key === '' ? all : names.get(key))}
      />
    </Combobox.Root>
  )
}
