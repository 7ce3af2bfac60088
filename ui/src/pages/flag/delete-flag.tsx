import { useState } from 'react'
import { serviceNow } from '../../api/clock.ts'
import { flagDeletion, type Loaded } from '../../api/flags.ts'
import { Remove } from '../../parts/editing/remove.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { flag } from '../../words/flag.ts'
import { removal } from '../../words/pending.ts'
import { LastAsked } from './last-asked.tsx'

const words = flag.remove
const DAY_MS = 86_400_000

/** Dialog that deletes a flag at the revision that was shown. */
export const DeleteFlag = ({
  loaded: { flag: thing, revision },
  onClose,
  onDeleted,
}: {
  readonly loaded: Loaded
  readonly onClose: () => void
  readonly onDeleted: () => void
}) => {
  const { key, createdAt } = thing
  // For a flag older than a day the user must type its key.
  const [old] = useState(() => serviceNow() - Date.parse(createdAt) > DAY_MS)
  const say = useSay()
  return (
    <Remove
      title={words.title(key)}
      words={words}
      confirm={old ? { label: removal.confirm, text: key } : undefined}
      writeOf={(reason) => flagDeletion(thing, revision, reason)}
      onClose={onClose}
      onDone={() => {
        say(words.done(key))
        onDeleted()
      }}
    >
      <p>{words.why}</p>
      <LastAsked of={thing} />
    </Remove>
  )
}
