import { Switch } from '@base-ui/react/switch'
import { useId } from 'react'
import { clockAhead } from '../api/clock.ts'
import { Choices } from '../parts/fields/field.tsx'
import { choicesOf } from '../parts/fields/options.ts'
import { zoneName } from '../parts/moment.ts'
import { PageHead } from '../parts/page.tsx'
import { choose, usePreferences } from '../preferences.ts'
import { preferences as words } from '../words/preferences.ts'

const DIFFER_MS = 120_000

const Toggle = ({
  label,
  on,
  onChange,
}: {
  readonly label: string
  readonly on: boolean
  readonly onChange: (on: boolean) => void
}) => {
  const id = useId()
  return (
    <div className="bar">
      <Switch.Root className="switch" checked={on} onCheckedChange={onChange} aria-labelledby={id}>
        <Switch.Thumb className="thumb" />
      </Switch.Root>
      <span id={id}>{label}</span>
    </div>
  )
}

/** Page of the preferences of this browser; changes apply at once. */
export const PreferencesPage = () => {
  const { theme, zone, exactTimes, density, singleKeys } = usePreferences()
  const apart = Math.round(Math.abs(clockAhead()) / 60_000)
  return (
    <>
      <PageHead heading={words.title} title={[words.title]} />
      <div className="form">
        <p className="muted">{words.about}</p>
        <Choices
          label={words.theme}
          value={theme}
          options={choicesOf(words.themes)}
          onChange={(theme) => choose({ theme })}
        />
        <Choices
          label={words.zone}
          value={zone}
          options={choicesOf(words.zones(zoneName('browser')))}
          onChange={(zone) => choose({ zone })}
        />
        <Choices
          label={words.density}
          value={density}
          options={choicesOf(words.densities)}
          onChange={(density) => choose({ density })}
        />
        <Toggle label={words.exact} on={exactTimes} onChange={(exactTimes) => choose({ exactTimes })} />
        <Toggle label={words.singleKeys} on={singleKeys} onChange={(singleKeys) => choose({ singleKeys })} />
        {Math.abs(clockAhead()) > DIFFER_MS && <p className="notice">{words.clocks(apart)}</p>}
      </div>
    </>
  )
}
