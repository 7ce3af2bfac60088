import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useId, useRef } from 'react'
import { flushSync } from 'react-dom'
import { Button, IconButton } from '../../parts/button.tsx'
import { Checkbox, TextArea, TextField } from '../../parts/fields/field.tsx'
import { evaluate as words } from '../../words/evaluate.ts'
import { contextFlaws, type Flaws, type Form, jsonOf, type Row, rowsOf } from './form.ts'

type ContextProps = {
  readonly form: Form
  readonly flaws: Flaws
  readonly onChange: (part: Partial<Form>) => void
  /** Whether the address keeps the context, so that rows can be private; default: true. */
  readonly isKept?: boolean
}

const empty: Row = { property: '', value: '', private: false }

const Rows = ({ form: { rows }, flaws, onChange, isKept = true }: ContextProps) => {
  const list = useRef<HTMLUListElement>(null)
  const add = useRef<HTMLButtonElement>(null)
  const change = (n: number, part: Partial<Row>) => onChange({ rows: rows.with(n, { ...rows[n]!, ...part }) })
  /** Replaces the rows and focuses a control of the row at an index. */
  const put = (next: readonly Row[], wanted: number, selector: string) => {
    flushSync(() => onChange({ rows: next }))
    const row = list.current?.children[wanted]
    ;(row?.querySelector<HTMLElement>(selector) ?? add.current)?.focus()
  }
  return (
    <>
      {rows.length === 0 && <p className="hint">{words.noContext}</p>}
      <ul className="tight" aria-label={words.context} ref={list}>
        {rows.map((row, n) => (
          <li className="context-row" key={n}>
            <TextField
              label={words.property(n + 1)}
              mono
              value={row.property}
              wrong={flaws[`row.${n}`]}
              onChange={(property) => change(n, { property })}
            />
            <TextField
              label={words.value(n + 1)}
              mono
              exact
              value={row.value}
              onChange={(value) => change(n, { value })}
            />
            {isKept && (
              <Checkbox
                label={words.private(n + 1)}
                checked={row.private}
                onChange={(hidden) => change(n, { private: hidden })}
              />
            )}
            <IconButton
              name={words.removeRow(n + 1)}
              icon={<TrashIcon />}
              data-act="remove"
              onClick={() => put(rows.toSpliced(n, 1), Math.min(n, rows.length - 2), '[data-act=remove]')}
            />
          </li>
        ))}
      </ul>
      <div>
        <Button ref={add} onClick={() => put([...rows, empty], rows.length, 'input')}>
          <PlusIcon />
          {words.addRow}
        </Button>
      </div>
    </>
  )
}

/** Editor of the evaluation context, as rows or as JSON. */
export const Context = (props: ContextProps) => {
  const { form, flaws, onChange } = props
  const id = useId()
  const { json } = form
  const hidden = form.rows.filter((row) => row.private && row.property !== '').map(({ property }) => property)
  const asRows = () => {
    if (contextFlaws(form)['json'] !== undefined) return
    onChange({ rows: rowsOf(form), json: undefined })
  }
  return (
    <section className="tight" aria-labelledby={id}>
      <div className="bar">
        <h2 id={id}>{words.context}</h2>
        <span className="push">
          {json === undefined ? (
            <Button look="plain" onClick={() => onChange({ json: jsonOf(form) })}>
              {words.asJson}
            </Button>
          ) : (
            <Button look="plain" onClick={asRows}>
              {words.asRows}
            </Button>
          )}
        </span>
      </div>
      {json === undefined ? (
        <Rows {...props} />
      ) : (
        <TextArea
          label={words.json}
          hint={words.jsonHint}
          rows={8}
          mono
          value={json}
          wrong={flaws['json']}
          onChange={(text) => onChange({ json: text })}
        />
      )}
      {hidden.length > 0 && (
        <p className="hint">{json === undefined ? words.privateHint : words.jsonPrivate(hidden)}</p>
      )}
    </section>
  )
}
