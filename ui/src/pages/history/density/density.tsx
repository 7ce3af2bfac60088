import { type PointerEvent, useId, useRef, useState } from 'react'
import type { EventFilter, Period } from '../../../api/event-filters.ts'
import { type Density, useDensity } from '../../../api/histogram.ts'
import { Button } from '../../../parts/button.tsx'
import { LoadFailed } from '../../../parts/lists/states.tsx'
import { Table } from '../../../parts/lists/table.tsx'
import { instantWords, zoneName } from '../../../parts/moment.ts'
import { usePreferences } from '../../../preferences.ts'
import { number } from '../../../words/common.ts'
import { density as words } from '../../../words/history.ts'
import { Bars } from './bars.tsx'
import { edgeOf, rangeOf, type Span } from './span.ts'

const AsTable = ({ density }: { readonly density: Density }) => {
  const { zone } = usePreferences()
  return (
    <div className="density-table">
      <Table
        name={words.table}
        rows={density.bars}
        rowKey={({ start }) => start}
        heads="begins"
        columns={[
          {
            key: 'begins',
            head: words.begins(zoneName(zone)),
            cell: ({ start }) => instantWords(start, zone, density.step < 60),
          },
          { key: 'events', head: words.events, cell: ({ count }) => number(count) },
          { key: 'refused', head: words.refused, cell: ({ refused }) => number(refused) },
        ]}
      />
    </div>
  )
}

/** Slider of one end of the range. */
const Edge = ({
  label,
  value,
  most,
  text,
  onChange,
}: {
  readonly label: string
  readonly value: number
  readonly most: number
  readonly text: string
  readonly onChange: (value: number) => void
}) => (
  <input
    type="range"
    className="density-edge"
    aria-label={label}
    aria-valuetext={text}
    min={0}
    max={most}
    value={value}
    onChange={(event) => onChange(Number(event.target.value))}
  />
)

/** Returns handlers that choose the bars over which the pointer is dragged. */
const useDrag = (bars: number, choose: (span: Span) => void, show: (span: Span) => void) => {
  const anchor = useRef<number | undefined>(undefined)
  const barAt = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, right, width } = currentTarget.getBoundingClientRect()
    const isMirrored = getComputedStyle(currentTarget).direction === 'rtl'
    const share = width === 0 ? 0 : (isMirrored ? right - clientX : clientX - left) / width
    return Math.min(bars - 1, Math.max(0, Math.floor(share * bars)))
  }
  const spanAt = (event: PointerEvent): Span | undefined => {
    if (anchor.current === undefined) return undefined
    const at = barAt(event)
    return { begin: Math.min(at, anchor.current), end: Math.max(at, anchor.current) + 1 }
  }
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return
      event.currentTarget.setPointerCapture(event.pointerId)
      anchor.current = barAt(event)
    },
    onPointerMove: (event: PointerEvent) => {
      const span = spanAt(event)
      if (span) choose(span)
    },
    onPointerUp: (event: PointerEvent) => {
      const span = spanAt(event)
      anchor.current = undefined
      if (span) show(span)
    },
    onPointerCancel: () => {
      anchor.current = undefined
    },
  }
}

const Strip = ({
  density,
  filter,
  onPeriod,
}: {
  readonly density: Density
  readonly filter: EventFilter
  readonly onPeriod: (period: Period) => void
}) => {
  const { zone } = usePreferences()
  const { bars, from, to, total, refused, isExact } = density
  const most = bars.length
  const [{ begin, end }, choose] = useState<Span>({ begin: 0, end: most })
  const [isTable, setIsTable] = useState(false)
  const about = useId()
  const whenWords = (instant: string) => instantWords(instant, zone, density.step < 60)
  const edgeWords = (edge: number) => whenWords(edgeOf(density, edge))
  const isWhole = begin === 0 && end === most
  const show = (span: Span) => onPeriod(rangeOf(density, span, filter))
  const drag = useDrag(most, choose, show)
  return (
    <div role="group" aria-label={words.group} aria-describedby={about} className="density">
      <p id={about} className="small muted">
        {words.summary(total, refused, isExact, whenWords(from), whenWords(to))} {refused > 0 && words.below}
      </p>
      <form
        className="density-strip"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isWhole) show({ begin, end })
        }}
      >
        <div className="density-picture" {...drag}>
          <Bars density={density} span={{ begin, end }} />
        </div>
        <div className="density-edges">
          <Edge
            label={words.begin}
            value={begin}
            most={most}
            text={edgeWords(begin)}
            onChange={(value) => choose({ begin: Math.min(value, end - 1), end })}
          />
          <Edge
            label={words.end}
            value={end}
            most={most}
            text={edgeWords(end)}
            onChange={(value) => choose({ begin, end: Math.max(value, begin + 1) })}
          />
        </div>
        <div className="bar">
          {!isWhole && (
            <>
              <Button type="submit">{words.show(edgeWords(begin), edgeWords(end))}</Button>
              <Button look="plain" onClick={() => choose({ begin: 0, end: most })}>
                {words.whole}
              </Button>
            </>
          )}
          <Button look="plain" aria-expanded={isTable} onClick={() => setIsTable(!isTable)}>
            {isTable ? words.hideTable : words.asTable}
          </Button>
        </div>
      </form>
      {isTable && <AsTable density={density} />}
    </div>
  )
}

/**
 * Density of the events that pass the filters (ui.md §11.8.4). A range is chosen by two sliders or by dragging.
 * `version` is that of the page: the strip is read again with it.
 */
export const DensityStrip = ({
  filter,
  version,
  onPeriod,
}: {
  readonly filter: EventFilter
  readonly version: string
  readonly onPeriod: (period: Period) => void
}) => {
  const { data, error, refetch } = useDensity(filter, version)
  if (error) return <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />
  if (!data) return <div className="density" aria-busy="true" />
  if (data.bars.length === 0) return null
  const { from, to, step } = data
  return <Strip key={`${from} ${to} ${step}`} density={data} filter={filter} onPeriod={onPeriod} />
}
