import { Choices } from '../../parts/field.tsx'
import { flag as words } from '../../words/flag.ts'
import type { Loaded } from '../../api/flags.ts'
import type { Draft } from './draft.ts'
import { Portions } from './portions.tsx'
import { Rollouts } from './rollouts.tsx'
import { Rules, Variants } from './variants.tsx'
import type { Edited } from '../../parts/editor.tsx'

const either = (of: { readonly false: string; readonly true: string }) =>
  (['false', 'true'] as const).map((value) => ({ value, label: of[value] }))

/** What a flag answers: a Boolean one by its rollouts, a variant one by its rules; and what everybody else gets. */
export const Targeting = ({
  state: { base, start, draft, change },
  flaws,
  why,
  opened,
  onOpen,
}: Edited<Loaded, Draft> & {
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
}) => {
  const boolean = base.flag.type === 'BOOLEAN_FLAG_TYPE'
  const present = boolean ? words.otherwiseIs(draft.enabled) : words.stateIs(draft.enabled)
  return (
    <div className="stack">
      {boolean && (
        <>
          <Portions name={words.effect} draft={draft} />
          <Rollouts
            namespace={base.flag.namespaceKey}
            start={start}
            rollouts={draft.rollouts}
            flaws={flaws}
            why={why}
            change={change}
            opened={opened}
            onOpen={onOpen}
          />
        </>
      )}
      {why === undefined ? (
        <Choices
          label={boolean ? words.otherwise : words.state}
          value={draft.enabled ? 'true' : 'false'}
          options={either(boolean ? words.answers : words.states)}
          onChange={(next) => change(() => ({ enabled: next === 'true' }))}
        />
      ) : (
        <p>{present}</p>
      )}
      {!boolean && (
        <>
          <Variants flag={base.flag} />
          <Rules loaded={base} />
        </>
      )}
    </div>
  )
}
