import { useState } from 'react'
import { useAttempt } from '../../../api/attempt.ts'
import type { EventFilter } from '../../../api/event-filters.ts'
import { type ExportFormat, exportPath, isWhole } from '../../../api/export.ts'
import { dividedFilter } from '../../../api/live/feed.ts'
import { addressOf } from '../../../api/request.ts'
import { Button } from '../../../parts/button.tsx'
import { Code } from '../../../parts/code.tsx'
import { curlOf, rollcallOf } from '../../../parts/command-line.ts'
import { useCopy } from '../../../parts/copy.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { FailureAlert } from '../../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../../parts/feedback/dialog.tsx'
import { Safe } from '../../../parts/feedback/safe.tsx'
import { useSay } from '../../../parts/feedback/status.tsx'
import { Choices } from '../../../parts/fields/field.tsx'
import { fullWords } from '../../../parts/moment.ts'
import { usePreferences } from '../../../preferences.ts'
import { useSession } from '../../../session.tsx'
import { common } from '../../../words/common.ts'
import { exporting as words } from '../../../words/export.ts'

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
const fileOf = (format: ExportFormat): string => `rollcall-events.${EXTENSIONS[format]}`

/** Formats an export as a `curl` command. */
const curlExport = (filter: EventFilter, format: ExportFormat, isOpen: boolean): string =>
  `${curlOf(exportPath(filter, format, isOpen))} --fail --output ${fileOf(format)}`

/** Formats an export as a `rollcall` command. */
const rollcallExport = (filter: EventFilter, format: ExportFormat, isOpen: boolean): string => {
  const given = Object.entries({ ...filter, format })
  const options = given.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`--${OPTIONS[name] ?? name}=${value}`],
  )
  return rollcallOf(['events', 'export'], [...options, ...(isOpen ? ['--personal'] : [])], fileOf(format))
}

/** Range and filters of an export in words. */
const Content = ({ filter, size }: { readonly filter: EventFilter; readonly size: string }) => {
  const { filters, range } = dividedFilter(filter)
  const { zone } = usePreferences()
  const { from, to, after, before, afterIndex, beforeIndex } = range
  const bounds = [
    from !== undefined && words.from(fullWords(from, zone)),
    to !== undefined && words.to(fullWords(to, zone)),
    after !== undefined && words.after(after),
    before !== undefined && words.before(before),
    afterIndex !== undefined && words.afterIndex(afterIndex),
    beforeIndex !== undefined && words.beforeIndex(beforeIndex),
  ].filter((text) => text !== false)
  const given = Object.entries(filters)
  const named = given.map(([name, value]) => (
    <div key={name}>
      {words.names[name] ?? name}: <Safe text={value} />
    </div>
  ))
  const filtered = given.length === 0 ? words.noFilters : named
  return <Facts of={{ [words.events]: size, [words.range]: bounds.join(' · '), [words.filters]: filtered }} />
}

const FORMATS = (['ndjson', 'csv', 'cloudevents', 'ocsf'] as const).map((value) => ({
  value,
  label: words.formats[value],
}))
const PERSONAL = [
  { value: 'sealed', label: words.sealed },
  { value: 'open', label: words.opened },
] as const
type Personal = (typeof PERSONAL)[number]['value']

/** Formats with a form for open personal data. */
const OPENED: ReadonlySet<ExportFormat> = new Set(['ndjson', 'ocsf'])

/** Lets the browser download an address of the service. */
const download = (path: string, name: string): void => {
  const link = document.createElement('a')
  link.href = addressOf(path)
  link.download = name
  link.click()
}

const Commands = ({
  filter,
  format,
  isOpen,
}: {
  readonly filter: EventFilter
  readonly format: ExportFormat
  readonly isOpen: boolean
}) => {
  const { copy, told } = useCopy()
  const [curl, rollcall] = [curlExport(filter, format, isOpen), rollcallExport(filter, format, isOpen)]
  return (
    <section className="tight">
      <h3>{words.sameAs}</h3>
      <Code label={words.curl} text={curl} />
      <Code label={words.rollcall} text={rollcall} />
      <div className="bar">
        <Button onClick={() => copy(curl, words.curl)}>{words.copyCurl}</Button>
        <Button onClick={() => copy(rollcall, words.rollcall)}>{words.copyRollcall}</Button>
        {told}
      </div>
    </section>
  )
}

/** Dialog that exports all events of a filter by a download of the browser (ui.md §11.8.7). */
export const ExportDialog = ({
  filter,
  size,
  onClose,
}: {
  readonly filter: EventFilter
  readonly size: string
  readonly onClose: () => void
}) => {
  const { authenticated } = useSession()
  const say = useSay()
  const [format, setFormat] = useState<ExportFormat>('ndjson')
  const [personal, setPersonal] = useState<Personal>('sealed')
  const { busy, failure, attempt } = useAttempt()
  const [isTooLong, setIsTooLong] = useState(false)
  const whyNoOpen = OPENED.has(format) ? (authenticated ? undefined : words.noCredential) : words.noOpenedForm
  const isOpen = personal === 'open' && whyNoOpen === undefined
  const save = async () => {
    setIsTooLong(false)
    if (!(await isWhole(filter, format))) return setIsTooLong(true)
    download(exportPath(filter, format, isOpen), fileOf(format))
    say(words.begun)
    onClose()
  }
  return (
    <Dialog title={words.title} open onClose={onClose}>
      <Content filter={filter} size={size} />
      <Choices
        label={words.format}
        hint={words.hints[format]}
        value={format}
        options={FORMATS}
        onChange={(next) => {
          setFormat(next)
          setIsTooLong(false)
        }}
      />
      {whyNoOpen === undefined ? (
        <Choices label={words.personal} value={personal} options={PERSONAL} onChange={setPersonal} />
      ) : (
        <Choices
          label={words.personal}
          hint={whyNoOpen}
          value="sealed"
          options={PERSONAL.slice(0, 1)}
          onChange={() => undefined}
        />
      )}
      <p>{words.recorded}</p>
      {failure && <FailureAlert title={words.failed} failure={failure} />}
      {isTooLong && (
        <p role="alert" className="notice">
          {words.pages}
        </p>
      )}
      <Commands filter={filter} format={format} isOpen={isOpen} />
      <Actions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button look="primary" busy={busy ? words.checking : undefined} onClick={() => void attempt(save)}>
          {words.download}
        </Button>
      </Actions>
    </Dialog>
  )
}
