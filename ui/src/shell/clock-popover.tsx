import { Popover } from '@base-ui/react/popover'
import { type FormEvent, type RefObject, useState } from 'react'
import { serviceNow } from '../api/clock.ts'
import { isFailure } from '../api/failure.ts'
import { readNamespaces } from '../api/namespaces.ts'
import type { Direction } from '../api/step.ts'
import { instantOf, isPosition, useAt, useGoTo } from '../at.ts'
import { Button } from '../parts/button.tsx'
import { messageOf } from '../parts/feedback/alert.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { TextField } from '../parts/fields/field.tsx'
import { closing } from '../parts/loaded.ts'
import { instantOfInput, localInput } from '../parts/moment.ts'
import { usePreferences } from '../preferences.ts'
import { useMissing } from '../why-not.ts'
import { past } from '../words/past.ts'
import { useStep } from './step.ts'

const HOUR_MS = 3_600_000

/** Returns the service's error message for a moment; undefined if the moment is valid. */
const refusedMoment = async (at: string): Promise<string | undefined> => {
  try {
    await readNamespaces({ limit: 1, at })
    return undefined
  } catch (error) {
    if (!isFailure(error)) throw error
    return messageOf(error)
  }
}

/** The present time of the service minus one day, by the calendar of the zone. */
const yesterday = (zone: string): Date => {
  const then = new Date(serviceNow())
  if (zone === 'utc') then.setUTCDate(then.getUTCDate() - 1)
  else then.setDate(then.getDate() - 1)
  return then
}

/** Buttons for frequent moments, and for the events of the open page. */
const Shortcuts = ({
  why,
  onMoment,
  onStep,
  onNow,
}: {
  readonly why: string | undefined
  readonly onMoment: (moment: Date) => void
  readonly onStep: (direction: Direction) => void
  readonly onNow: (() => void) | undefined
}) => {
  const { zone } = usePreferences()
  return (
    <div className="bar">
      <Button why={why} onClick={() => onMoment(new Date(serviceNow() - HOUR_MS))}>
        {past.hourAgo}
      </Button>
      <Button why={why} onClick={() => onMoment(yesterday(zone))}>
        {past.yesterday}
      </Button>
      <Button why={why} onClick={() => onStep('previous')}>
        {past.previousEvent}
      </Button>
      <Button why={why} onClick={() => onStep('next')}>
        {past.nextEvent}
      </Button>
      {onNow && <Button onClick={onNow}>{past.backToNow}</Button>}
    </div>
  )
}

const Refused = ({ words }: { readonly words: string | undefined }) =>
  words === undefined ? null : (
    <div role="alert" className="alert">
      <p>
        <Safe text={words} />
      </p>
    </div>
  )

const Form = ({ onDone }: { readonly onDone: () => void }) => {
  const at = useAt()
  const go = useGoTo()
  const { zone } = usePreferences()
  const shown = instantOf(at)
  const [moment, setMoment] = useState(shown === undefined ? '' : localInput(new Date(shown), zone))
  const [position, setPosition] = useState(at !== undefined && isPosition(at) ? at : '')
  const [wrong, setWrong] = useState<string | undefined>()
  const [looking, setLooking] = useState(false)
  const { step, looking: stepping, wrong: missed } = useStep()

  const show = async (next: string) => {
    setLooking(true)
    const refused = await refusedMoment(next)
    setLooking(false)
    setWrong(refused)
    if (refused !== undefined) return
    go(next)
    onDone()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (looking) return
    const instant = instantOfInput(moment, zone)
    if (position !== '' && !/^\d{1,20}$/.test(position)) setWrong(past.badPosition)
    else if (position !== '') void show(position)
    else if (instant) void show(instant.toISOString())
    else setWrong(past.choose)
  }
  const toNow = () => {
    go(undefined)
    onDone()
  }
  const toEvent = async (direction: Direction) => {
    setWrong(undefined)
    const found = await step(direction)
    if (found === undefined) return
    setPosition(found)
    setMoment('')
  }
  const why = useMissing()({ right: 'history.read' })
  const busy = looking || stepping ? past.looking : undefined
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <Refused words={wrong ?? missed} />
      <TextField
        label={past.moment(zone === 'utc' ? 'UTC' : undefined)}
        type="datetime-local"
        value={moment}
        onChange={(text) => {
          setMoment(text)
          setPosition('')
        }}
      />
      <TextField
        label={past.position}
        hint={past.positionHint}
        mono
        value={position}
        onChange={(text) => {
          setPosition(text.trim())
          setMoment('')
        }}
      />
      <div className="bar">
        <Button type="submit" look="primary" why={why} busy={busy}>
          {past.show}
        </Button>
      </div>
      <Shortcuts
        why={why}
        onMoment={(next) => void show(next.toISOString())}
        onStep={(direction) => void toEvent(direction)}
        onNow={at === undefined ? undefined : toNow}
      />
    </form>
  )
}

/** Popover of the clock, anchored to its button. */
export const ClockPopover = ({
  button,
  onClose,
}: {
  readonly button: RefObject<HTMLElement | null>
  readonly onClose: () => void
}) => (
  <Popover.Root open onOpenChange={closing(button, onClose)}>
    <Popover.Portal>
      <Popover.Positioner className="popup-place" anchor={button} align="end" sideOffset={6}>
        <Popover.Popup className="popup clock" finalFocus={button}>
          <Popover.Title>{past.title}</Popover.Title>
          <Form onDone={onClose} />
        </Popover.Popup>
      </Popover.Positioner>
    </Popover.Portal>
  </Popover.Root>
)
