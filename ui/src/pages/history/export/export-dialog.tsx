import { useState } from 'react'
import type { EventFilter } from '../../../api/event-filters.ts'
import { type ExportFormat, exportPath, isWhole } from '../../../api/export.ts'
import { type Failure, isFailure } from '../../../api/failure.ts'
import { addressOf } from '../../../api/request.ts'
import { Button } from '../../../parts/button.tsx'
import { Code } from '../../../parts/code.tsx'
import { useCopy } from '../../../parts/copy.tsx'
import { FailureAlert } from '../../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../../parts/feedback/dialog.tsx'
import { useSay } from '../../../parts/feedback/status.tsx'
import { Choices } from '../../../parts/fields/field.tsx'
import { useSession } from '../../../session.tsx'
import { common } from '../../../words/common.ts'
import { exporting as words } from '../../../words/export.ts'
import { curlExport, fileOf, rollcallExport } from './commands.ts'
import { Content } from './content.tsx'

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
  const [isChecking, setIsChecking] = useState(false)
  const [failure, setFailure] = useState<Failure | undefined>()
  const [isTooLong, setIsTooLong] = useState(false)
  const whyNoOpen = OPENED.has(format) ? (authenticated ? undefined : words.noCredential) : words.noOpenedForm
  const isOpen = personal === 'open' && whyNoOpen === undefined
  const save = async () => {
    setIsChecking(true)
    setFailure(undefined)
    setIsTooLong(false)
    try {
      if (!(await isWhole(filter, format))) return setIsTooLong(true)
      download(exportPath(filter, format, isOpen), fileOf(format))
      say(words.begun)
      onClose()
    } catch (error) {
      if (!isFailure(error)) throw error
      setFailure(error)
    } finally {
      setIsChecking(false)
    }
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
        <Button look="primary" busy={isChecking ? words.checking : undefined} onClick={() => void save()}>
          {words.download}
        </Button>
      </Actions>
    </Dialog>
  )
}
