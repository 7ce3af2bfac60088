import { Combobox } from '@base-ui/react/combobox'
import { ChevronDownIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useDeferredValue, useLayoutEffect, useRef, useState } from 'react'
import { FoundKeys } from './found-keys.tsx'

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
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const { data = [] } = useQuery({
    queryKey: [...source.queryKey, 'search', asked],
    queryFn: ({ signal }) => source.read(asked, signal),
    enabled: open,
    placeholderData: (before) => before,
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
      onOpenChange={(next) => {
        setOpen(next)
        setTyped('')
      }}
      value={value === '' && all === undefined ? null : value}
      inputValue={open ? typed : (shown ?? value)}
      onInputValueChange={(text, { reason }) => {
        if (reason === 'input-change') setTyped(text)
      }}
      onValueChange={(key) => {
        if (key !== null) onChange(key)
      }}
    >
      <div className={wide ? 'picker wide' : 'picker'} ref={place}>
        <Combobox.Input {...input} className="input" placeholder={open ? (shown ?? value) : (all ?? '')} />
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
