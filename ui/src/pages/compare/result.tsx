import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { StateDiff } from '../../api/differences.ts'
import { keys } from '../../api/keys.ts'
import { thingOf } from '../../links.ts'
import { Choices } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { LoadFailed } from '../../parts/lists/states.tsx'
import { instantWords, zoneName } from '../../parts/moment.ts'
import { usePreferences } from '../../preferences.ts'
import { compare as words } from '../../words/compare.ts'
import { Difference } from './difference.tsx'
import { SegmentsUsed } from './segments-used.tsx'
import { readSides, readWholes, type Whole } from './wholes.ts'

type Place = StateDiff['a']
export type View = keyof typeof words.views

const Side = ({ side, place: { position, time } }: { readonly side: 'A' | 'B'; readonly place: Place }) => {
  const { zone } = usePreferences()
  const moment =
    time === undefined ? words.beforeAll : words.at(instantWords(time, zone, true), zoneName(zone), position)
  return <span>{words.from(side, moment)}</span>
}

/** Reads both sides of the differences: always of one stream, of a namespace if the view is full. */
const useWholes = (difference: StateDiff, stream: string | undefined, full: boolean) => {
  const { a, b, items } = difference
  return useQuery({
    queryKey: [...keys.differences, 'wholes', a.position, b.position, stream ?? '', items.map((item) => item.stream)],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, Whole>> =>
      stream === undefined
        ? readWholes(difference, signal)
        : new Map([[stream, await readSides(stream, items[0], difference, signal)]]),
    enabled: full || stream !== undefined,
    placeholderData: keepPreviousData,
  })
}

/** Differences of two moments, and for a flag those of the segments that it uses. */
export const Result = ({
  difference,
  stream,
  view,
  isPresentFirst,
  onView,
}: {
  readonly difference: StateDiff
  /** Stream that is compared; undefined for a namespace. */
  readonly stream: string | undefined
  readonly view: View
  /** Whether the first moment is the present, which cannot be restored. */
  readonly isPresentFirst: boolean
  readonly onView: (view: View) => void
}) => {
  const { a, b, items } = difference
  const full = view === 'full'
  const { data: wholes, error, isPlaceholderData, refetch } = useWholes(difference, stream, full)
  const before = isPresentFirst ? undefined : a.position
  const thing = stream === undefined ? undefined : thingOf(stream)
  const whole = stream === undefined || isPlaceholderData ? undefined : wholes?.get(stream)
  return (
    <>
      <div className="bar">
        <p className="facts">
          <Side side="A" place={a} />
          <Side side="B" place={b} />
        </p>
        <span className="push">
          <Choices label={words.view} value={view} options={choicesOf(words.views)} onChange={onView} />
        </span>
      </div>
      <section className="stack" aria-label={words.heading}>
        <h2>{words.differences}</h2>
        {error && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
        {items.length === 0 ? (
          <p>{words.same}</p>
        ) : (
          <ul className="parts" aria-label={words.differences}>
            {items.map((item) => (
              <Difference
                key={item.stream}
                item={item}
                whole={isPlaceholderData ? undefined : wholes?.get(item.stream)}
                full={full}
                before={before}
              />
            ))}
          </ul>
        )}
      </section>
      {thing?.kind === 'flag' && whole && (
        <SegmentsUsed flag={thing} whole={whole} comparison={{ a, b }} full={full} before={before} />
      )}
    </>
  )
}
