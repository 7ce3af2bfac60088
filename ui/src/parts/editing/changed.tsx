import type { Actor } from '../../api/flags.ts'
import { common } from '../../words/common.ts'
import { actorName } from '../actor.ts'
import { Safe } from '../feedback/safe.tsx'
import { Time } from '../time.tsx'

/** Time and, if known, author of an event. */
export const Happened = ({ at, by }: { readonly at: string; readonly by: string | undefined }) => (
  <span>
    <Time instant={at} />{' '}
    {by !== undefined && (
      <span className="muted small">
        <Safe text={common.by(by)} />
      </span>
    )}
  </span>
)

/** Time and, if known, author of the last change. */
export const Changed = ({ at, by }: { readonly at: string; readonly by: Actor | undefined }) => (
  <Happened at={at} by={by && actorName(by)} />
)
