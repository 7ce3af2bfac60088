import type { EventFilter } from '../../../api/event-filters.ts'
import { type ExportFormat, exportPath } from '../../../api/export.ts'
import { curlOf, rollcallOf } from '../../../parts/command-line.ts'

/** Options of `rollcall events export` for parameters with another name. */
const OPTIONS: Readonly<Record<string, string>> = {
  tokenId: 'token-id',
  namespaceKey: 'namespace',
  flagKey: 'flag',
  segmentKey: 'segment',
  requestId: 'request-id',
  correlationId: 'correlation-id',
  afterIndex: 'after-index',
  beforeIndex: 'before-index',
  q: 'search',
}

const EXTENSIONS = { ndjson: 'ndjson', csv: 'csv', cloudevents: 'json', ocsf: 'ocsf.ndjson' } as const

/** Name of the file of an export. */
export const fileOf = (format: ExportFormat): string => `rollcall-events.${EXTENSIONS[format]}`

/** Formats an export as a `curl` command. */
export const curlExport = (filter: EventFilter, format: ExportFormat, isOpen: boolean): string =>
  `${curlOf(exportPath(filter, format, isOpen))} --fail --output ${fileOf(format)}`

/** Formats an export as a `rollcall` command. */
export const rollcallExport = (filter: EventFilter, format: ExportFormat, isOpen: boolean): string => {
  const given = Object.entries({ ...filter, format })
  const options = given.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`--${OPTIONS[name] ?? name}=${value}`],
  )
  return rollcallOf(['events', 'export'], [...options, ...(isOpen ? ['--personal'] : [])], fileOf(format))
}
