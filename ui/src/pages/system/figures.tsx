import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '../../api/keys.ts'
import { type Figures, readFigures } from '../../api/system.ts'
import { Button } from '../../parts/button.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { Table } from '../../parts/lists/table.tsx'
import { number } from '../../words/common.ts'
import { type Figure, system as words } from '../../words/system.ts'

const DAY_MS = 86_400_000
const HEIGHT = 32

/** Filters of the history behind each figure. */
const FILTERS: Readonly<Record<Figure, Readonly<Record<string, string>>>> = {
  loginsCompleted: { type: 'LoginCompleted' },
  loginsRefused: { type: 'LoginRefused' },
  exchangesIssued: { type: 'TokenIssued', method: 'orchestrator' },
  requestsRefused: { type: 'RefusalsSummarised' },
  tokensIssued: { type: 'TokenIssued' },
  tokensDeleted: { type: 'TokenRevoked' },
}
const FIGURES = Object.keys(FILTERS) as readonly Figure[]

type Day = { readonly day: string; readonly count: number }

const daysOf = ({ first, days, rows }: Figures, figure: Figure): readonly Day[] => {
  const counts = new Map(rows.map((row) => [row.start?.slice(0, 10), row[figure]]))
  return Array.from({ length: days }, (_, n) => {
    const day = new Date(first + n * DAY_MS).toISOString().slice(0, 10)
    return { day, count: counts.get(day) ?? 0 }
  })
}

const FigureChart = ({ figures, figure }: { readonly figures: Figures; readonly figure: Figure }) => {
  const [isTable, setIsTable] = useState(false)
  const days = daysOf(figures, figure)
  const most = Math.max(1, ...days.map(({ count }) => count))
  const total = days.reduce((sum, { count }) => sum + count, 0)
  const name = words.figure[figure]
  const search = { ...FILTERS[figure], from: new Date(figures.first).toISOString() }
  return (
    <li className="card stack">
      <h3>{name}</h3>
      <p>
        <Link to="/history" search={search}>
          {words.inHistory(total, name)}
        </Link>
      </p>
      <svg
        className="figure-bars"
        viewBox={`0 0 ${days.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {days.map(({ day, count }, n) => {
          const height = count === 0 ? 0.5 : Math.max(2, (count / most) * HEIGHT)
          return <rect key={day} x={n + 0.1} y={HEIGHT - height} width={0.8} height={height} />
        })}
      </svg>
      <div>
        <Button look="plain" aria-expanded={isTable} onClick={() => setIsTable(!isTable)}>
          {isTable ? words.hideTable(name) : words.asTable(name)}
        </Button>
      </div>
      {isTable && (
        <Table
          name={words.perDay(name)}
          rows={days}
          rowKey={({ day }) => day}
          heads="day"
          columns={[
            { key: 'day', head: words.day, cell: ({ day }) => day },
            { key: 'count', head: words.count, cell: ({ count }) => number(count) },
          ]}
        />
      )}
    </li>
  )
}

/** Logins, exchanges, refusals and tokens of the last 30 days. Each number links to its events in the history. */
export const FigureCharts = () => {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.history, 'figures'],
    queryFn: ({ signal }) => readFigures(signal),
  })
  return (
    <section className="stack">
      <h2>{words.figures}</h2>
      {error && <LoadFailed things={words.things.figures} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={3} />}
      {data && (
        <ul className="figures">
          {FIGURES.map((figure) => (
            <FigureChart key={figure} figures={data} figure={figure} />
          ))}
        </ul>
      )}
    </section>
  )
}
