import { useState } from 'react'
import { serviceNow } from '../../api/clock.ts'
import type { EventFilter, Period } from '../../api/event-filters.ts'
import { isInstant } from '../../at.ts'
import { Select, TextField } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { instantOfInput, localInput } from '../../parts/moment.ts'
import { usePreferences } from '../../preferences.ts'
import { filterWords as words } from '../../words/history-filters.ts'

export const ALL_TIME: Period = { from: undefined, to: undefined }

const HOUR_MS = 3_600_000
const LENGTHS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS, month: 720 * HOUR_MS }
type Preset = keyof typeof LENGTHS | 'all' | 'custom'

const options = choicesOf<Preset>(words.ranges)
const isLength = (preset: Preset): preset is keyof typeof LENGTHS => Object.hasOwn(LENGTHS, preset)

/** Value of an input for an instant of the address; empty for a text that is no instant. */
const inputOf = (instant: string | undefined, zone: 'browser' | 'utc'): string =>
  instant !== undefined && isInstant(instant) ? localInput(new Date(instant), zone) : ''

/** Period of the history: a preset, or two moments. */
export const RangeFields = ({
  filter: { from, to },
  refused,
  onChange,
}: {
  readonly filter: EventFilter
  /** Failures of the service by field. */
  readonly refused: Readonly<Record<string, string>>
  readonly onChange: (period: Period) => void
}) => {
  const { zone } = usePreferences()
  const [chosen, setChosen] = useState<{ readonly preset: Preset; readonly from: string } | undefined>()
  const isChosen = chosen !== undefined && chosen.from === from && to === undefined
  const preset = isChosen ? chosen.preset : from === undefined && to === undefined ? 'all' : 'custom'
  const pick = (next: Preset) => {
    if (next === 'all') onChange(ALL_TIME)
    if (!isLength(next)) return
    const begin = new Date(Math.floor((serviceNow() - LENGTHS[next]) / 1000) * 1000).toISOString()
    setChosen({ preset: next, from: begin })
    onChange({ ...ALL_TIME, from: begin })
  }
  const instant = (text: string): string | undefined => instantOfInput(text, zone)?.toISOString()
  const zoned = zone === 'utc' ? 'UTC' : undefined
  return (
    <>
      <Select label={words.range} value={preset} options={options} onChange={pick} />
      <TextField
        label={words.from(zoned)}
        type="datetime-local"
        value={inputOf(from, zone)}
        wrong={refused['from']}
        onChange={(text) => onChange({ from: instant(text) })}
      />
      <TextField
        label={words.to(zoned)}
        type="datetime-local"
        value={inputOf(to, zone)}
        wrong={refused['to']}
        onChange={(text) => onChange({ to: instant(text) })}
      />
    </>
  )
}
