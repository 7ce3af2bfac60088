import type { EventFilter, Period } from '../../api/event-filters.ts'
import { DensityStrip } from './density/density.tsx'
import { LiveBar } from './live/live-bar.tsx'
import type { LivePage } from './live/use-live-page.ts'

/** Content above the list of events: their density, which an auditor may read, and the new events. */
export const HistoryOverview = ({
  filter,
  live,
  onPeriod,
}: {
  readonly filter: EventFilter
  readonly live: LivePage
  readonly onPeriod: (period: Period) => void
}) => (
  <>
    {live.isAuditor && live.head && <DensityStrip filter={filter} version={live.head.position} onPeriod={onPeriod} />}
    <LiveBar live={live.now} onShow={live.show} />
  </>
)
