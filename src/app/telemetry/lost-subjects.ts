import type { Metrics } from '../../http/metrics/metrics.ts'
import type { Logger } from './logger.ts'

/** Maximum number of counted subjects. */
const COUNTED = 10_000

/** Place of the subject keys, by store. */
const places: Readonly<Record<string, string>> = {
  embedded: 'subjects.sqlite',
  mongodb: 'the collection "subjects" of MongoDB',
}

/** Reports subjects whose key is lost: counts each once, and logs one ERROR line that does not name the subject. */
export const lostSubjects = (
  { subjectsLost }: Pick<Metrics, 'subjectsLost'>,
  logger: Pick<Logger, 'error'>,
  adapter: string,
) => {
  const met = new Set<string>()
  const cell = subjectsLost()
  return (subject: string): void => {
    if (met.size >= COUNTED || met.has(subject)) return
    met.add(subject)
    cell.value++
    if (met.size > 1) return
    const place = places[adapter] ?? adapter
    logger.error(
      { adapter, advice: `restore the keys from the newest backup of ${place}` },
      `personal data cannot be read: a key in ${place} is missing, destroyed or another one, but the history has no erasure; the data is shown as lost`,
    )
  }
}
