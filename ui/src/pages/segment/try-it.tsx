import { CheckIcon, XIcon } from '@primer/octicons-react'
import { matchSegment, type SegmentMatch } from '../../api/segments.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useMissing } from '../../why-not.ts'
import { segment as words } from '../../words/segments.ts'
import { Trial } from '../evaluate/trial.tsx'
import { fieldsOf, sentenceOf } from './changes.ts'
import type { Draft } from './draft.ts'

const Result = ({ said: { matched, constraints }, draft }: { readonly said: SegmentMatch; readonly draft: Draft }) => (
  <>
    <p role="status">
      <strong>{matched ? words.tryIt.inside : words.tryIt.outside}</strong>
    </p>
    <ul className="tight" aria-label={words.tryIt.results}>
      {draft.constraints.map((constraint, n) => (
        <li key={constraint.id} className="bar">
          {constraints[n]?.matched ? <CheckIcon /> : <XIcon />}
          <Safe text={sentenceOf(constraint)} />
          <span className="muted">{words.tryIt.result(constraints[n]?.matched === true, constraints[n]?.never)}</span>
        </li>
      ))}
    </ul>
  </>
)

/** Tests the draft of a segment with one entity (ui.md §11.5). */
export const TryIt = ({
  namespace,
  segmentKey,
  draft,
}: {
  readonly namespace: string
  readonly segmentKey: string
  readonly draft: Draft
}) => (
  <Trial
    words={words.tryIt}
    why={useMissing()({ right: 'segment.read', namespaceKey: namespace })}
    bodyOf={(entity) => ({
      ...entity,
      matchType: draft.match === 'all' ? 'ALL_MATCH_TYPE' : 'ANY_MATCH_TYPE',
      constraints: draft.constraints.map(fieldsOf),
    })}
    send={(body) => matchSegment(namespace, segmentKey, body)}
    render={(said) => <Result said={said} draft={draft} />}
  />
)
