import { ArrowSwitchIcon } from '@primer/octicons-react'
import { keys } from '../../api/keys.ts'
import { Button } from '../../parts/button.tsx'
import { KeyField } from '../../parts/fields/key-field.tsx'
import { NamespaceField } from '../../parts/fields/namespace-field.tsx'
import { usePreferences } from '../../preferences.ts'
import { momentWords } from '../../shell/past.tsx'
import { compare as words } from '../../words/compare.ts'
import { MomentField } from './moment-field.tsx'
import { type Scope, searchThings, streamNamed, streamWords } from './scope.ts'

type Moments = { readonly a: string | undefined; readonly b: string | undefined }

/** Fields for the subject of a comparison and its two moments. Each choice is in the address at once. */
export const Pickers = ({
  scope: { stream, namespace },
  moments: { a, b },
  at,
  wrong,
  onScope,
  onMoments,
}: {
  readonly scope: Scope
  readonly moments: Moments
  /** Moment that the page shows. */
  readonly at: string | undefined
  /** Refusals of the service by field. */
  readonly wrong: Readonly<Partial<Record<'a' | 'b', string>>>
  readonly onScope: (scope: { readonly stream?: string; readonly ns?: string }) => void
  readonly onMoments: (moments: Partial<Moments>) => void
}) => {
  const { zone } = usePreferences()
  const now =
    at === undefined
      ? { kind: words.kinds.now, moment: words.kinds.now }
      : { kind: words.shown, moment: momentWords(at, zone) }
  const offered = [...new Set([at, ...(wrong.a === undefined ? [a] : []), ...(wrong.b === undefined ? [b] : [])])]
  return (
    <div className="stack pickers">
      <div className="scope">
        <NamespaceField label={words.namespace} value={namespace} onChange={(ns) => onScope({ ns })} />
        <KeyField
          label={words.what}
          wrong={undefined}
          value={stream === undefined ? '' : streamWords(stream)}
          all={words.everything(namespace)}
          onChange={(name) => onScope(name === '' ? { ns: namespace } : { stream: streamNamed(name, namespace) })}
          source={{
            queryKey: [...keys.differences, 'what', namespace, ...offered.map((moment) => moment ?? '')],
            read: (typed, signal) => searchThings(namespace, offered, typed, signal),
          }}
          words={{ open: words.openWhat, none: words.noWhat }}
        />
      </div>
      <div className="moments">
        <MomentField side="A" value={a} now={now} wrong={wrong.a} onChange={(next) => onMoments({ a: next })} />
        <Button onClick={() => onMoments({ a: b, b: a })}>
          <ArrowSwitchIcon />
          {words.swap}
        </Button>
        <MomentField side="B" value={b} now={now} wrong={wrong.b} onChange={(next) => onMoments({ b: next })} />
      </div>
    </div>
  )
}
