import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '../../api/keys.ts'
import { type LoadedSegment, readUsages, segmentDeletion } from '../../api/segments.ts'
import { toFlag } from '../../links.ts'
import { Button } from '../../parts/button.tsx'
import { Remove } from '../../parts/editing/remove.tsx'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { common } from '../../words/common.ts'
import { segment as words } from '../../words/segments.ts'

/** Dialog that deletes a segment at the revision that was shown. A segment in use is kept, and its uses are listed. */
export const DeleteSegment = ({
  loaded,
  onClose,
  onDeleted,
}: {
  readonly loaded: LoadedSegment
  readonly onClose: () => void
  readonly onDeleted: () => void
}) => {
  const { namespaceKey: ns, key } = loaded.segment
  const [refused, setRefused] = useState(false)
  const say = useSay()
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.flags(ns), 'using', key, 'deleting'],
    queryFn: ({ signal }) => readUsages(ns, key, {}, signal),
    staleTime: 0,
    gcTime: 0,
  })
  if (data?.totalCount === 0 && !refused)
    return (
      <Remove
        title={words.remove.title(key)}
        words={words.remove}
        writeOf={(reason) => segmentDeletion(loaded, reason)}
        onRefused={({ reason }) => {
          if (reason !== 'in_use') return false
          setRefused(true)
          void refetch()
          return true
        }}
        onClose={onClose}
        onDone={() => {
          say(words.remove.done(key))
          onDeleted()
        }}
      >
        <p>{words.unused}</p>
      </Remove>
    )
  const used = refused || data !== undefined
  const more = (data?.totalCount ?? 0) - (data?.flags.length ?? 0)
  return (
    <Dialog title={<Safe text={used ? words.remove.inUse(key) : words.remove.title(key)} />} open onClose={onClose}>
      {used && <p>{words.remove.inUseWhy}</p>}
      {error && <LoadFailed things={words.usages} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={2} />}
      {data && (
        <ul aria-label={words.usedBy} className="tight">
          {data.flags.map((flag) => (
            <li key={flag.key}>
              <Link {...toFlag(ns, flag.key)}>
                <Safe text={flag.name} />
              </Link>{' '}
              <span className="muted">{words.uses(flag.segmentUses ?? [])}</span>
            </li>
          ))}
          {more > 0 && <li>{words.remove.more(more)}</li>}
        </ul>
      )}
      <Actions>
        <Button onClick={onClose}>{common.close}</Button>
      </Actions>
    </Dialog>
  )
}
