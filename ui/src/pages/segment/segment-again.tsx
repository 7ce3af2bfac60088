import { getRouteApi } from '@tanstack/react-router'
import { keys } from '../../api/keys.ts'
import { readSegment, segmentCreation } from '../../api/segments.ts'
import { MakeAgain } from '../../parts/editing/make-again.tsx'
import { restore } from '../../words/restore.ts'
import { segment, segments } from '../../words/segments.ts'

const here = getRouteApi('/inside/ns/$ns/segments/$key')

/** Page that creates a deleted segment again, before its state at a moment is restored. */
export const SegmentAgain = ({ moment }: { readonly moment: string }) => {
  const { ns, key } = here.useParams()
  return (
    <MakeAgain
      words={{ thing: segment.thing, notFound: segment.notFound, section: segments.heading }}
      namespace={ns}
      name={key}
      moment={moment}
      queryKey={keys.segment(ns, key)}
      read={(then, signal) => readSegment(ns, key, then, signal)}
      creation={({ segment: { name, description, matchType } }, reason) =>
        segmentCreation(ns, { key, name, description, matchType }, reason)
      }
      first={restore.again.first}
    />
  )
}
