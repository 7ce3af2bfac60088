import { usePreferences } from '../../preferences.ts'
import { restore } from '../../words/restore.ts'
import { Safe } from '../feedback/safe.tsx'
import { instantWords, zoneName } from '../moment.ts'
import type { Restored } from './editing.ts'
import { LeftOut } from './left-out.tsx'

/** Returns a function that names a past state by its instant, if known, and its position. */
export const useMomentWords = (): ((of: Pick<Restored<object>, 'position' | 'instant'>) => string) => {
  const { zone } = usePreferences()
  return ({ position, instant }) =>
    instant === undefined
      ? restore.position(position)
      : restore.moment(instantWords(instant, zone, true), zoneName(zone), position)
}

/** Notice above a draft that brings back a past state; lists the parts that were left out. */
export const RestoredNotice = ({
  restored,
  changes,
  thing,
}: {
  readonly restored: Restored<object>
  readonly changes: number
  readonly thing: string
}) => {
  const moment = useMomentWords()(restored)
  const words = changes === 0 ? restore.equal(thing, moment) : restore.draft(moment, changes)
  return (
    <section className="alert warn" aria-label={restore.region}>
      <p>
        <Safe text={words} />
      </p>
      <LeftOut left={restored.left} />
    </section>
  )
}
