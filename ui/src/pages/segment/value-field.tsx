import { useState } from 'react'
import { Checkbox, TextField } from '../../parts/fields/field.tsx'
import { ValuesField } from '../../parts/fields/values-field.tsx'
import { instantOfInput, localInput, meaningOf } from '../../parts/moment.ts'
import { usePreferences } from '../../preferences.ts'
import { segment as words } from '../../words/segments.ts'
import { type ConstraintDraft, kindOf } from './draft.ts'
import { isNumber } from './number.ts'

type Given = {
  readonly constraint: ConstraintDraft
  readonly wrong: string | undefined
  readonly onChange: (part: Partial<ConstraintDraft>) => void
}

/** Field for a day or a local time; the instant that is sent is shown below. */
const Moment = ({ constraint: { value, day }, wrong, onChange }: Given) => {
  const { zone } = usePreferences()
  const shown = value === '' || day ? '' : localInput(new Date(value), zone)
  const [typed, setTyped] = useState({ value, zone, text: shown })
  // Keep the text as typed while it parses to the value, because a year is typed digit by digit.
  const text = typed.value === value && typed.zone === zone ? typed.text : shown
  const type = (next: string) => {
    const meant = instantOfInput(next, zone)?.toISOString().replace('.000Z', 'Z') ?? ''
    setTyped({ value: meant, zone, text: next })
    onChange({ value: meant })
  }
  const instant = value === '' ? undefined : new Date(value)
  const [local, utc] = instant ? meaningOf(instant.toISOString(), zone) : ['', '']
  return (
    <div className="tight">
      {day ? (
        <TextField
          label={words.valueIn('UTC')}
          type="date"
          value={value}
          wrong={wrong}
          hint={instant && words.dayMeans(utc)}
          onChange={(next) => onChange({ value: next })}
        />
      ) : (
        <TextField
          label={zone === 'utc' ? words.valueIn('UTC') : words.value}
          type="datetime-local"
          value={text}
          wrong={wrong}
          hint={instant && words.means(local, utc)}
          onChange={type}
        />
      )}
      <Checkbox
        label={words.wholeDay}
        checked={day}
        onChange={(on) => onChange({ day: on, value: on ? value.slice(0, 10) : value && `${value}T00:00:00Z` })}
      />
    </div>
  )
}

/** Field for the value of a constraint, by its type and operator. */
export const ValueField = (given: Given) => {
  const { constraint, wrong, onChange } = given
  const { type, operator, value, values } = constraint
  const kind = kindOf(constraint)
  if (kind === 'none') return null
  if (kind === 'moment') return <Moment {...given} />
  if (kind === 'list')
    return (
      <ValuesField
        label={words.value}
        hint={words.valuesHint}
        wrong={wrong}
        value={values}
        onChange={(next) => onChange({ values: next })}
      />
    )
  const never = type === 'NUMBER_COMPARISON_TYPE' && value !== '' && !isNumber(value)
  return (
    <TextField
      label={words.value}
      value={value}
      exact={/fix$|contains$/.test(operator)}
      wrong={wrong}
      notice={never ? words.never(value) : undefined}
      onChange={(text) => onChange({ value: text })}
    />
  )
}
