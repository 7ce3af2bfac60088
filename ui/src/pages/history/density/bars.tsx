import type { Density } from '../../../api/histogram.ts'
import type { Span } from './span.ts'

/** Heights of the bars above and below the line, in units of the picture. */
const [ABOVE, BELOW] = [40, 12]
/** Share of a bar's width that stays empty. */
const GAP = 0.2

const heightOf = (count: number, most: number, height: number): number =>
  count === 0 ? 0 : Math.max(1.5, (count / most) * height)

/** Bars of all events above a line, and of refusals below it. */
export const Bars = ({ density, span }: { readonly density: Density; readonly span: Span }) => {
  const { bars } = density
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const mostRefused = Math.max(1, ...bars.map(({ refused }) => refused))
  return (
    <svg
      className="density-bars"
      viewBox={`0 0 ${bars.length} ${ABOVE + BELOW + 1}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {span.end - span.begin < bars.length && (
        <rect className="chosen" x={span.begin} y={0} width={span.end - span.begin} height={ABOVE + BELOW + 1} />
      )}
      <rect className="line" x={0} y={ABOVE} width={bars.length} height={0.5} />
      {bars.map(({ start, count, refused }, n) => {
        const height = heightOf(count, most, ABOVE)
        return (
          <g key={start}>
            {count > 0 && <rect className="all" x={n + GAP / 2} y={ABOVE - height} width={1 - GAP} height={height} />}
            {refused > 0 && (
              <rect
                className="refused"
                x={n + GAP / 2}
                y={ABOVE + 1}
                width={1 - GAP}
                height={heightOf(refused, mostRefused, BELOW)}
              />
            )}
          </g>
        )
      })}
    </svg>
  )
}
