import { useEffect, useState } from 'react'
import { isInstant, isPosition } from '../../at.ts'
import { Select, TextField } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { instantOfInput, localInput } from '../../parts/moment.ts'
import { type Preferences, usePreferences } from '../../preferences.ts'
import { compare as words } from '../../words/compare.ts'
import { past } from '../../words/past.ts'

type Kind = keyof typeof words.kinds
type Zone = Preferences['zone']
type Typed = { readonly kind: Kind; readonly text: string }

const PAUSE_MS = 400

const typedOf = (value: string | undefined, zone: Zone): Typed => {
  if (value === undefined) return { kind: 'now', text: '' }
  if (isPosition(value)) return { kind: 'event', text: value }
  return { kind: 'moment', text: isInstant(value) ? localInput(new Date(value), zone) : '' }
}

/** Moment in the address that was typed; undefined if the text is not a moment. */
const momentOf = ({ kind, text }: Typed, zone: Zone): string | undefined => {
  if (kind === 'event') return /^\d{1,20}$/.test(text) ? text : undefined
  return kind === 'moment' ? instantOfInput(text, zone)?.toISOString() : undefined
}

/** Picker of one moment of a comparison: a date and time, the position of an event, or the present. */
export const MomentField = ({
  side,
  value,
  now,
  wrong,
  onChange,
}: {
  readonly side: 'A' | 'B'
  /** Moment in the address; undefined for the present. */
  readonly value: string | undefined
  /** Name of the present as a kind of moment, and as a moment. */
  readonly now: { readonly kind: string; readonly moment: string }
  /** Refusal of the service. */
  readonly wrong: string | undefined
  readonly onChange: (moment: string | undefined) => void
}) => {
  const { zone } = usePreferences()
  const [typed, setTyped] = useState(() => typedOf(value, zone))
  const [edited, setEdited] = useState(false)
  const [seen, setSeen] = useState(value)
  const moment = momentOf(typed, zone)
  if (value !== seen) {
    setSeen(value)
    setEdited(false)
    if (value !== moment || typed.kind === 'now') setTyped(typedOf(value, zone))
  }
  useEffect(() => {
    if (!edited || moment === undefined || moment === value) return undefined
    const timer = window.setTimeout(() => onChange(moment), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [edited, moment, value, onChange])
  const { kind, text } = typed
  const bad = edited && kind === 'event' && text !== '' && moment === undefined ? past.badPosition : undefined
  const label = words.moment(side, kind === 'moment' && zone === 'utc' ? 'UTC' : undefined)
  const type = (next: string) => {
    setTyped({ kind, text: next })
    setEdited(true)
  }
  return (
    <div className="moment">
      <Select
        label={words.kindOf(side)}
        value={kind}
        options={choicesOf({ ...words.kinds, now: now.kind })}
        onChange={(next) => {
          setTyped({ kind: next, text: '' })
          setEdited(false)
          if (next === 'now') onChange(undefined)
        }}
      />
      {kind === 'now' ? (
        <TextField label={label} readOnly value={now.moment} onChange={() => undefined} />
      ) : (
        <TextField
          label={label}
          type={kind === 'moment' ? 'datetime-local' : 'text'}
          mono={kind === 'event'}
          value={text}
          wrong={bad ?? wrong}
          onChange={(next) => type(kind === 'event' ? next.trim().replace(/^#/, '') : next)}
        />
      )}
    </div>
  )
}
