import { useState } from 'react'
import { EVERY } from '../../api/access.ts'
import { useAttempt } from '../../api/attempt.ts'
import { type HistoryEvent, readEvent } from '../../api/history.ts'
import { useMissing } from '../../why-not.ts'
import { common } from '../../words/common.ts'
import { personalWords as words } from '../../words/history.ts'
import { Button } from '../button.tsx'
import { Facts } from '../facts.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { Actions, Ask } from '../feedback/dialog.tsx'
import { CodeText } from '../feedback/safe.tsx'

type Opened = NonNullable<HistoryEvent['personal']>

const SEALED = /^sealed\.1\.[^.]+\.[\w-]+$/

/** JSON Pointers of the sealed fields of an event. */
const sealedIn = ({ data, meta }: HistoryEvent): readonly string[] =>
  Object.entries({ data, meta }).flatMap(([part, of]) =>
    Object.entries(of).flatMap(([name, value]) =>
      typeof value === 'string' && SEALED.test(value) ? [`/${part}/${name}`] : [],
    ),
  )

/** Value of a personal field: sealed, opened, or why it cannot be opened. */
const valueOf = (field: Opened[string] | undefined) => {
  if (field === undefined) return <span className="badge off">{words.states.sealed}</span>
  if (field.status !== 'open') {
    const isErased = field.status === 'erased'
    return (
      <span className="bar">
        <span className={isErased ? 'badge gone' : 'badge warn'}>{words.states[field.status]}</span>
        <span className="muted small">{isErased ? words.erasedWhy : words.lostWhy}</span>
      </span>
    )
  }
  const text = typeof field.value === 'string' ? field.value : JSON.stringify(field.value, null, 2)
  return <CodeText look="opened" text={text} />
}

/** Confirmation before personal data are opened, because the service records it. */
const OpenAsk = ({
  position,
  onOpened,
  onClose,
}: {
  readonly position: string
  readonly onOpened: (opened: Opened) => void
  readonly onClose: () => void
}) => {
  const { busy, failure, attempt } = useAttempt()
  const open = async () => {
    const { personal = {} } = await readEvent(position, true)
    onOpened(personal)
    onClose()
  }
  return (
    <Ask title={words.show} open onClose={onClose}>
      <p>{words.recorded}</p>
      {failure && <FailureAlert title={words.failed} failure={failure} />}
      <Actions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button look="primary" busy={busy ? words.asking : undefined} onClick={() => void attempt(open)}>
          {words.show}
        </Button>
      </Actions>
    </Ask>
  )
}

/** Personal data of an event, sealed until the user opens them; opened values live in this component only. */
export const PersonalData = ({ event }: { readonly event: HistoryEvent }) => {
  const [opened, setOpened] = useState<Opened | undefined>()
  const [asking, setAsking] = useState(false)
  const why = useMissing()({ right: 'audit.read', namespaceKey: EVERY })
  const fields = [...new Set([...sealedIn(event), ...Object.keys(opened ?? {})])]
  if (fields.length === 0) return null
  return (
    <section className="tight">
      <h2>{words.heading}</h2>
      <Facts
        label={words.heading}
        of={Object.fromEntries(fields.map((field) => [field.slice(1).replace('/', ' › '), valueOf(opened?.[field])]))}
      />
      <div>
        {opened ? (
          <Button onClick={() => setOpened(undefined)}>{words.hide}</Button>
        ) : (
          <Button why={why} onClick={() => setAsking(true)}>
            {words.show}
          </Button>
        )}
      </div>
      {asking && <OpenAsk position={event.position} onOpened={setOpened} onClose={() => setAsking(false)} />}
    </section>
  )
}
