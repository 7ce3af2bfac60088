import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { distanceWords, fullWords, instantWords } from './moment.ts'
import { Tip } from './button.tsx'

/** An instant: its distance where it is near, else day and time; the whole of it, with its zone, on focus and under the pointer. */
export const Time = ({
  instant,
  exact = false,
}: {
  readonly instant: string | undefined
  readonly exact?: boolean
}) => {
  const { zone, exactTimes } = usePreferences()
  if (instant === undefined) return <>{common.never}</>
  const near = exact || exactTimes ? undefined : distanceWords(instant)
  return (
    <Tip words={fullWords(instant, zone)}>
      <time dateTime={instant} tabIndex={0} className="time">
        {near ?? instantWords(instant, zone)}
      </time>
    </Tip>
  )
}
