import type { Actor } from '../../api/flags.ts'
import { common } from '../../words/common.ts'
import { actorName } from '../actor.ts'
import { Safe } from '../feedback/safe.tsx'
import { Time } from '../time.tsx'

/** When something happened, and who did it, where that is known. */
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

/** When something was changed last, and by whom, where that is known. */
export const Changed = ({ at, by }: { readonly at: string; readonly by: Actor | undefined }) => (
  <Happened at={at} by={by && actorName(by)} />
)
