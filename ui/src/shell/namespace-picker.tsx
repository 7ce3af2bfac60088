import { Combobox } from '@base-ui/react/combobox'
import { ChevronDownIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useState } from 'react'
import { keys } from '../api/keys.ts'
import { readNamespaces } from '../api/namespaces.ts'
import { Safe } from '../parts/safe.tsx'
import { lastNamespace, rememberNamespace } from '../preferences.ts'
import { shell } from '../words/shell.ts'

const SHOWN = 20

/** Which namespace is looked at; the service is searched as one types. */
export const NamespacePicker = () => {
  const { ns } = useParams({ strict: false }) as { readonly ns?: string }
  const present = ns ?? lastNamespace()
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const navigate = useNavigate()
  useEffect(() => {
    if (ns !== undefined) rememberNamespace(ns)
  }, [ns])
  const { data } = useQuery({
    queryKey: [...keys.namespaces, 'picker', asked],
    queryFn: ({ signal }) => readNamespaces({ q: asked, limit: SHOWN }, signal),
    enabled: open,
    placeholderData: (before) => before,
  })
  const found = data?.namespaces ?? []
  return (
    <Combobox.Root
      items={found.map(({ key }) => key)}
      filter={null}
      open={open}
      onOpenChange={setOpen}
      value={present}
      inputValue={open ? typed : present}
      onInputValueChange={(value, { reason }) => {
        if (reason === 'input-change') setTyped(value)
      }}
      onValueChange={(key) => {
        if (key === null) return
        rememberNamespace(key)
        setTyped('')
        void navigate({ to: '/ns/$ns/flags', params: { ns: key } })
      }}
    >
      <div className="picker">
        <Combobox.Input className="input" aria-label={shell.namespace} />
        <Combobox.Trigger className="button icon plain" aria-label={shell.namespaces}>
          <ChevronDownIcon />
        </Combobox.Trigger>
      </div>
      <Combobox.Portal>
        <Combobox.Positioner className="popup-place" sideOffset={6}>
          <Combobox.Popup className="popup">
            <Combobox.Empty className="about muted">{shell.noNamespace}</Combobox.Empty>
            <Combobox.List>
              {(key: string) => (
                <Combobox.Item key={key} value={key} className="item">
                  <Safe text={key} />
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  )
}
