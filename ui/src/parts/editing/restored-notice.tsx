import { usePreferences } from '../../preferences.ts'
import { restore } from '../../words/restore.ts'
import { Safe } from '../feedback/safe.tsx'
import { instantWords, zoneName } from '../moment.ts'
import type { Restored } from './editing.ts'
import { LeftOut } from './left-out.tsx'

/** Returns a function that names a past state by its instant, if known, and its position. */
export const useMomentWords = (): ((of: { position: string; instant: string | undefined }) => string) => {
  const { zone } = usePreferences()
  return ({ position, instant }) =>
    instant === undefined
      ? restore.position(position)
      : restore.moment(instantWords(instant, zone, true), zoneName(zone), position)
}

/** Notice above a draft with another state; lists the parts that were left out. */
export const RestoredNotice = ({
  restored: { region, notice, left },
  changes,
}: {
  readonly restored: Restored<object>
  readonly changes: number
}) => (
  <section className="alert warn" aria-label={region}>
    <p>
      <Safe text={notice(changes)} />
    </p>
    <LeftOut left={left} />
  </section>
)
