import { useQuery } from '@tanstack/react-query'
import type { StateDiff } from '../../api/differences.ts'
import { keys } from '../../api/keys.ts'
import { type Thing, thingOf } from '../../links.ts'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { compare as words } from '../../words/compare.ts'
import { Difference } from './difference.tsx'
import { readSegmentDifferences, readWholes, type Whole } from './wholes.ts'

type Comparison = Pick<StateDiff, 'a' | 'b'>

/** Differences of the segments that a flag uses at either moment (ui.md §11.9). */
export const SegmentsUsed = ({
  flag,
  whole,
  comparison: { a, b },
  full,
  before,
}: {
  readonly flag: Thing
  readonly whole: Whole
  readonly comparison: Comparison
  readonly full: boolean
  readonly before: string | undefined
}) => {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.differences, 'segments', flag, a.position, b.position],
    queryFn: async ({ signal }) => {
      const found = await readSegmentDifferences(flag, whole, { a, b }, signal)
      return { ...found, wholes: await readWholes({ ...found, a, b }, signal) }
    },
  })
  const sentence = () => {
    if (!data) return undefined
    if (data.keys.length === 0) return words.noSegments
    if (data.compared < data.keys.length) return words.firstSegments(data.compared, data.keys.length)
    return data.items.length === 0 ? words.sameSegments(data.keys.length) : undefined
  }
  return (
    <section className="stack">
      <h2>{words.segments}</h2>
      {error && <LoadFailed things={words.segmentThings} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={2} />}
      {sentence() !== undefined && <p className="muted">{sentence()}</p>}
      {data && data.items.length > 0 && (
        <ul className="parts" aria-label={words.segments}>
          {data.items.map((item) => (
            <Difference
              key={item.stream}
              item={item}
              whole={data.wholes.get(item.stream)}
              full={full}
              before={thingOf(item.stream) && before}
            />
          ))}
        </ul>
      )}
    </section>
  )
}
