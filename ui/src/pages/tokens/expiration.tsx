import { serviceNow } from '../../api/clock.ts'
import { Select, TextField } from '../../parts/fields/field.tsx'
import { instantOfInput, localInput, meaningOf } from '../../parts/moment.ts'
import { type Preferences, usePreferences } from '../../preferences.ts'
import { fields } from '../../words/common.ts'
import { tokens } from '../../words/tokens.ts'

const words = tokens.form
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
type Preset = keyof typeof words.presets

/** Chosen expiry of a token. The instant is computed when a preset is chosen, to the minute. */
export type Chosen = {
  readonly preset: Preset
  readonly instant: string | undefined
  /** Text of the date and time field. */
  readonly entered: string
}

const inDays = (days: number): string =>
  new Date(Math.floor((serviceNow() + days * DAY_MS) / MINUTE_MS) * MINUTE_MS).toISOString()

const chosenAs = (preset: Preset, zone: Preferences['zone'], before?: Chosen): Chosen => {
  if (preset === 'none') return { preset, instant: undefined, entered: '' }
  const instant = preset === 'custom' ? (before?.instant ?? inDays(30)) : inDays(Number(preset))
  return { preset, instant, entered: localInput(new Date(instant), zone) }
}

export const firstChoice = (): Chosen => chosenAs('30', 'browser')

/** Returns the expiry to send, or its validation error. */
export const expiryOf = ({
  preset,
  instant,
}: Chosen): { readonly instant?: string | undefined; readonly wrong?: string } => {
  if (preset === 'none') return {}
  if (instant === undefined) return { wrong: fields.expiryMissing }
  return Date.parse(instant) <= serviceNow() ? { wrong: fields.expiryPast } : { instant }
}

/** Field for the expiry of a token. */
export const Expiration = ({
  chosen,
  wrong,
  onChange,
}: {
  readonly chosen: Chosen
  readonly wrong: string | undefined
  readonly onChange: (chosen: Chosen) => void
}) => {
  const { zone } = usePreferences()
  const { preset, instant, entered } = chosen
  const custom = preset === 'custom'
  const hint =
    instant === undefined ? (preset === 'none' ? words.endless : undefined) : words.expires(...meaningOf(instant, zone))
  return (
    <>
      <Select
        label={words.expiration}
        value={preset}
        options={(Object.entries(words.presets) as [Preset, string][]).map(([value, label]) => ({ value, label }))}
        {...(!custom && { hint, wrong })}
        onChange={(next) => onChange(chosenAs(next, zone, chosen))}
      />
      {custom && (
        <TextField
          label={words.at(zone === 'utc' ? 'UTC' : undefined)}
          type="datetime-local"
          value={entered}
          hint={hint}
          wrong={wrong}
          onChange={(text) => onChange({ preset, entered: text, instant: instantOfInput(text, zone)?.toISOString() })}
        />
      )}
    </>
  )
}
