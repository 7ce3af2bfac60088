import { CopyIcon } from '@primer/octicons-react'
import type { Loaded } from '../../api/flags.ts'
import { IconButton } from '../../parts/button.tsx'
import { useCopy } from '../../parts/copy.tsx'
import { CodeText, Safe } from '../../parts/feedback/safe.tsx'
import { AnswersBadge } from '../../parts/lists/answers-badge.tsx'
import { PageHead } from '../../parts/page.tsx'
import { flag as words } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { FlagMenu } from './flag-menu.tsx'

/** Head of a flag page: name, facts and actions. */
export const FlagHead = ({
  loaded: { flag, rollouts, rules, revision },
  why,
  onDelete,
}: {
  readonly loaded: Loaded
  readonly why: string | undefined
  readonly onDelete: () => void
}) => {
  const { key, name, namespaceKey, type } = flag
  const { copy, told } = useCopy()
  return (
    <PageHead heading={<Safe text={name} />} title={[name, flags.heading, namespaceKey]}>
      <div className="facts">
        <span className="bar">
          <CodeText look="key" text={key} />
          <IconButton name={words.menu.copyKey} icon={<CopyIcon />} onClick={() => copy(key, words.menu.things.key)} />
        </span>
        <span className="badge bare">{flags.typeOf(type)}</span>
        <AnswersBadge of={{ ...flag, rollouts, ruleCount: rules.length }} />
        <span className="muted">{words.revision(revision)}</span>
      </div>
      <FlagMenu namespace={namespaceKey} name={key} why={why} onCopy={copy} onDelete={onDelete} />
      {told}
    </PageHead>
  )
}
