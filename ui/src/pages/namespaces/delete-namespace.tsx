import { useQuery } from '@tanstack/react-query'
import { keys } from '../../api/keys.ts'
import { type ListedNamespace, namespaceDeletion, readContents } from '../../api/namespaces.ts'
import { Button } from '../../parts/button.tsx'
import { Remove } from '../../parts/editing/remove.tsx'
import { Actions, Dialog, useWayBack } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { Time } from '../../parts/time.tsx'
import { forgetNamespace } from '../../preferences.ts'
import { common } from '../../words/common.ts'
import { namespaces as words } from '../../words/namespaces.ts'

/** Dialog that deletes a namespace. If it contains flags, the user must type its key to delete them too. */
export const DeleteNamespace = ({
  namespace: { key, snapshotFetchedAt },
  onClose,
}: {
  readonly namespace: ListedNamespace
  readonly onClose: () => void
}) => {
  const say = useSay()
  const back = useWayBack()
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.namespace(key), 'deleting'],
    queryFn: ({ signal }) => readContents(key, signal),
    staleTime: 0,
    gcTime: 0,
  })
  if (!data)
    return (
      <Dialog title={<Safe text={words.remove.title(key)} />} open onClose={onClose} back={back}>
        {error ? (
          <LoadFailed things={words.thing} error={error} onRetry={() => void refetch()} />
        ) : (
          <Loading rows={2} />
        )}
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
        </Actions>
      </Dialog>
    )
  const { flags, segments } = data
  const full = flags > 0
  return (
    <Remove
      key={String(full)}
      namespace={key}
      title={full ? words.remove.titleWithFlags(key, flags) : words.remove.title(key)}
      words={{ submit: full ? words.remove.submitAll : words.remove.submit, failed: words.remove.failed }}
      confirm={full ? { label: words.remove.confirm(flags), text: key } : undefined}
      writeOf={(reason) => namespaceDeletion(data, full, reason)}
      onRefused={({ reason }) => {
        if (reason !== 'not_empty') return false
        void refetch()
        return true
      }}
      back={back}
      onClose={onClose}
      onDone={() => {
        forgetNamespace(key)
        say(words.remove.done(key))
        onClose()
      }}
    >
      <p>{full ? words.remove.withFlags : words.remove.empty(segments)}</p>
      {snapshotFetchedAt !== undefined && (
        <p>
          {words.remove.lastFetched} <Time instant={snapshotFetchedAt} toHour />.
        </p>
      )}
    </Remove>
  )
}
