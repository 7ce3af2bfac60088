import { type Option, Select } from '../../parts/fields/field.tsx'
import { NamespaceField } from '../../parts/fields/namespace-field.tsx'
import { tokens as words } from '../../words/tokens.ts'

type Options = readonly Option<string>[]

const optionsOf = (texts: Readonly<Record<string, string>>): Options =>
  Object.entries(texts).map(([value, label]) => ({ value, label }))
export const statuses = optionsOf(words.statuses)
export const accesses = optionsOf(words.accesses)

/** Returns the value in the address if it is one of the options, else the first option. */
export const chosenOf = (options: Options, asked: string | undefined): string =>
  options.find(({ value }) => value === asked)?.value ?? ''

/** Filters of the list of tokens. `places` are the namespaces to which the user's right to read tokens is limited. */
export const Filters = ({
  status,
  access,
  ns,
  places,
  onFilter,
}: {
  readonly status: string
  readonly access: string
  readonly ns: string
  readonly places: readonly string[] | undefined
  readonly onFilter: (change: Readonly<Record<string, string>>) => void
}) => (
  <>
    <Select
      label={words.status}
      hiddenLabel
      value={status}
      options={statuses}
      onChange={(value) => onFilter({ status: value })}
    />
    <Select
      label={words.columns.access}
      hiddenLabel
      value={access}
      options={accesses}
      onChange={(value) => onFilter({ access: value })}
    />
    {places ? (
      <Select
        label={words.namespace}
        hiddenLabel
        value={ns}
        options={places.map((key) => ({ value: key, label: key }))}
        onChange={(key) => onFilter({ ns: key })}
      />
    ) : (
      <NamespaceField
        label={words.namespace}
        hiddenLabel
        value={ns}
        all={words.allNamespaces}
        onChange={(key) => onFilter({ ns: key })}
      />
    )}
  </>
)
