import type { Actor } from '../api/flags.ts'
import { common } from '../words/common.ts'
import { actorName } from './actor.ts'
import { Safe } from './safe.tsx'
import { Time } from './time.tsx'

/** When something was changed last, and by whom, where that is known. */
export const Changed = ({ at, by }: { readonly at: string; readonly by: Actor | undefined }) => (
  <span>
    <Time instant={at} />{' '}
    {by && (
      <span className="muted small">
        <Safe text={common.by(actorName(by))} />
      </span>
    )}
  </span>
)
