import { Link } from '@tanstack/react-router'
import type { Needed } from '../api/access.ts'
import { useAt } from '../at.ts'
import { type Thing, thingOf, toRestored } from '../links.ts'
import { useWhyNot } from '../why-not.ts'
import { restore } from '../words/restore.ts'
import { buttonClass, stopOf } from './button.tsx'
import { tip } from './feedback/tip.ts'

/** Event as far as the link needs it. */
type Happening = { readonly stream: string; readonly position: string; readonly type?: string }

/** Position whose state an event leaves; of a deletion the one before it, which has the last state. */
const restoredOf = ({ position, type }: Happening): string =>
  type === 'FlagDeleted' || type === 'SegmentDeleted' ? String(BigInt(position) - 1n) : position

/**
 * Link “Restore this state” of an event of a flag or segment: its page with the state after the event as a draft. Nothing
 * for other events.
 */
export const RestoreLink = ({ event }: { readonly event: Happening }) => {
  const thing = thingOf(event.stream)
  return thing ? <RestoreThing thing={thing} moment={restoredOf(event)} /> : null
}

/** Rights that restoring a past state of a flag or segment needs. */
export const restoringRights = ({ kind, namespace }: Thing): readonly Needed[] =>
  [`${kind}.update`, `${kind}.read`, 'history.read'].map((right) => ({ right, namespaceKey: namespace }))

/** Link “Restore this state”: the page of a flag or segment with its state at a moment as a draft. */
export const RestoreThing = ({
  thing,
  moment,
  name,
}: {
  readonly thing: Thing
  readonly moment: string
  /** Name of the resource, where there are several links. */
  readonly name?: string
}) => {
  const why = useWhyNot(useAt(), ...restoringRights(thing))
  return (
    <Link
      {...toRestored(thing, moment)}
      className={buttonClass()}
      disabled={why !== undefined}
      tabIndex={0}
      {...stopOf(why)}
      aria-label={name === undefined ? undefined : restore.of(name)}
      {...(why !== undefined && tip(why))}
    >
      {restore.action}
    </Link>
  )
}
