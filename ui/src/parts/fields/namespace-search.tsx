import { keys } from '../../api/keys.ts'
import { readNamespaces } from '../../api/namespaces.ts'
import { shell } from '../../words/shell.ts'
import { KeySearch, type KeySource } from './key-search.tsx'

const SHOWN = 20
const source: KeySource = {
  queryKey: keys.namespaces,
  read: async (q, signal) => (await readNamespaces({ q, limit: SHOWN }, signal)).namespaces,
}

/** Combobox that searches namespaces while the user types. */
export const NamespaceSearch = ({
  value,
  onChange,
  all,
  input,
}: {
  readonly value: string
  readonly onChange: (key: string) => void
  readonly all?: string
  readonly input: React.ComponentProps<'input'>
}) => (
  <KeySearch
    value={value}
    onChange={onChange}
    source={source}
    words={{ open: shell.openNamespaces, none: shell.noNamespace }}
    {...(all !== undefined && { all })}
    input={input}
  />
)
