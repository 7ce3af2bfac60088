import { Combobox } from '@base-ui/react/combobox'
import { ChevronDownIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { keys } from '../api/keys.ts'
import { readNamespaces } from '../api/namespaces.ts'
import { shell } from '../words/shell.ts'
import { FoundKeys } from './found-keys.tsx'

const SHOWN = 20

type SearchProps = {
  readonly value: string
  readonly onChange: (key: string) => void
  readonly input: React.ComponentProps<'input'>
}

/** A field in which a namespace is searched at the service, as one types, and chosen. */
export const NamespaceSearch = ({ value, onChange, input }: SearchProps) => {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const { data } = useQuery({
    queryKey: [...keys.namespaces, 'search', asked],
    queryFn: ({ signal }) => readNamespaces({ q: asked, limit: SHOWN }, signal),
    enabled: open,
    placeholderData: (before) => before,
  })
  return (
    <Combobox.Root
      items={(data?.namespaces ?? []).map(({ key }) => key)}
      filter={null}
      open={open}
      onOpenChange={(next) => {
        setOpen(next)
        setTyped('')
      }}
      value={value === '' ? null : value}
      inputValue={open ? typed : value}
      onInputValueChange={(text, { reason }) => {
        if (reason === 'input-change') setTyped(text)
      }}
      onValueChange={(key) => {
        if (key !== null) onChange(key)
      }}
    >
      <div className="picker">
        <Combobox.Input {...input} className="input" placeholder={open ? value : ''} />
        <Combobox.Trigger className="button icon plain" aria-label={shell.openNamespaces} tabIndex={-1}>
          <ChevronDownIcon />
        </Combobox.Trigger>
      </div>
      <FoundKeys none={shell.noNamespace} />
    </Combobox.Root>
  )
}
