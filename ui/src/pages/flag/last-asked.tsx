import { useQuery } from '@tanstack/react-query'
import { serviceNow } from '../../api/clock.ts'
import { type Flag, readUsage } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { distanceWords, instantWords } from '../../parts/moment.ts'
import { usePreferences } from '../../preferences.ts'
import { flag } from '../../words/flag.ts'

const words = flag.asked
const HOUR_MS = 3_600_000

/**
 * Sentences about the last evaluation of a flag and the last fetch of its namespace by engines. The service knows both
 * to the hour.
 */
export const LastAsked = ({ of: { namespaceKey, key } }: { readonly of: Flag }) => {
  const { zone } = usePreferences()
  const { data, error } = useQuery({
    queryKey: [...keys.flag(namespaceKey, key), 'usage'],
    queryFn: ({ signal }) => readUsage(namespaceKey, key, signal),
    staleTime: 0,
    gcTime: 0,
  })
  if (error) return <p>{words.notKnown}</p>
  if (!data) return null
  const wordsOf = (hour: string) =>
    serviceNow() - Date.parse(hour) < HOUR_MS ? words.thisHour : (distanceWords(hour) ?? instantWords(hour, zone))
  const { lastEvaluatedAt, snapshotFetchedAt } = data
  return (
    <p>
      {lastEvaluatedAt === undefined ? words.never : words.last(wordsOf(lastEvaluatedAt))}
      {snapshotFetchedAt !== undefined && ` ${words.engines(wordsOf(snapshotFetchedAt))}`}
    </p>
  )
}
