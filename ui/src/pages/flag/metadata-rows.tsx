import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { Button, IconButton } from '../../parts/button.tsx'
import type { Flaws } from '../../parts/editing/editing.ts'
import { Select, TextField } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { flag } from '../../words/flag.ts'
import type { MetadataRow } from './metadata.ts'

const words = flag.about
const types = choicesOf(words.types)

/** Editor of the metadata of a flag. */
export const MetadataRows = ({
  rows,
  flaws,
  onChange,
}: {
  readonly rows: readonly MetadataRow[]
  readonly flaws: Flaws
  readonly onChange: (rows: readonly MetadataRow[]) => void
}) => {
  const change = (n: number, part: Partial<MetadataRow>) => onChange(rows.with(n, { ...rows[n]!, ...part }))
  return (
    <>
      {rows.map(({ key, type, value }, n) => (
        <div className="metadata-row" key={n}>
          <TextField
            label={words.metadataKey(n + 1)}
            mono
            value={key}
            wrong={flaws[`flag.metadata.${n}.key`]}
            onChange={(next) => change(n, { key: next })}
          />
          <Select
            label={words.metadataType(n + 1)}
            value={type}
            options={types}
            onChange={(next) => change(n, { type: next })}
          />
          <TextField
            label={words.metadataValue(n + 1)}
            mono
            exact
            value={value}
            wrong={flaws[`flag.metadata.${n}.value`]}
            onChange={(next) => change(n, { value: next })}
          />
          <IconButton
            name={words.removeRow(n + 1)}
            icon={<TrashIcon />}
            onClick={() => onChange(rows.toSpliced(n, 1))}
          />
        </div>
      ))}
      <div>
        <Button onClick={() => onChange([...rows, { key: '', type: 'text', value: '' }])}>
          <PlusIcon />
          {words.addRow}
        </Button>
      </div>
    </>
  )
}
