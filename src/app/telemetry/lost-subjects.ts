import type { Metrics } from '../../http/operations/metrics.ts'
import type { Logger } from './logger.ts'

/** Subjects that are counted at most. */
const COUNTED = 10_000

/** Where the keys of subjects are, by the store that holds them. */
const places: Readonly<Record<string, string>> = {
  embedded: 'subjects.sqlite',
  mongodb: 'the collection "subjects" of MongoDB',
}

/** Told of subjects whose key is lost: counts each once, and tells the operator once, without saying whose it is. */
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
      { adapter, advice: `bring back what is missing from the newest backup of ${place}` },
      `personal data can be read no more: a key is missing in ${place}, though nobody was erased; it is shown as lost`,
    )
  }
}
