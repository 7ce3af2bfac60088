import { useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { useExportSize } from '../../api/export.ts'
import { Button } from '../../parts/button.tsx'
import { exporting as words } from '../../words/export.ts'
import { ExportDialog } from './export/export-dialog.tsx'
import { LiveButton } from './live/live-bar.tsx'
import type { LivePage } from './live/use-live-page.ts'

/** Button with the number of the events of a filter, which opens the dialog “Export events”. */
const ExportEvents = ({
  filter,
  isAuditor,
}: {
  /** Filter up to the newest event of the page; undefined until the page is read. */
  readonly filter: EventFilter | undefined
  readonly isAuditor: boolean
}) => {
  const [opened, setOpened] = useState<{ readonly filter: EventFilter; readonly size: string } | undefined>()
  const { data: size } = useExportSize(filter, isAuditor)
  if (!filter || !size) return <Button why={words.notCounted}>{words.title}</Button>
  return (
    <>
      <Button
        why={size.value === 0 ? words.none : undefined}
        onClick={() => setOpened({ filter, size: words.size(size.value, size.exact) })}
      >
        {words.open(size.value, size.exact)}
      </Button>
      {opened && <ExportDialog {...opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

/** Buttons in the head of the history: live, and export. */
export const HistoryActions = ({ live }: { readonly live: LivePage }) => (
  <span className="bar">
    <LiveButton isOn={live.isOn} why={live.why} onChange={live.turn} />
    <ExportEvents filter={live.exported} isAuditor={live.isAuditor} />
  </span>
)
