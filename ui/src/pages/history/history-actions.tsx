import { ExportEvents } from './export/export-events.tsx'
import { LiveButton } from './live/live-bar.tsx'
import type { LivePage } from './live/use-live-page.ts'

/** Buttons in the head of the history: live, and export. */
export const HistoryActions = ({ live }: { readonly live: LivePage }) => (
  <span className="bar">
    <LiveButton isOn={live.isOn} why={live.why} onChange={live.turn} />
    <ExportEvents filter={live.exported} isAuditor={live.isAuditor} />
  </span>
)
