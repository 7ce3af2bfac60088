import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import {
  type ListedNamespace,
  type LoadedNamespace,
  type Namespace,
  namespaceUpdate,
  readLastChange,
  readNamespace,
} from '../../api/namespaces.ts'
import { actorName } from '../../parts/actor.ts'
import { Button } from '../../parts/button.tsx'
import type { Change } from '../../parts/editing/change-lines.tsx'
import { Conflict, Gone } from '../../parts/editing/conflict.tsx'
import { ofEach } from '../../parts/editing/merge.ts'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { type Named, useNamedForm } from '../../parts/fields/named-form.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { common, states } from '../../words/common.ts'
import { namespaces as words } from '../../words/namespaces.ts'
import { pending } from '../../words/pending.ts'
import { NamespaceForm } from './namespace-form.tsx'

const namedOf = ({ key, name, description }: Named): Named => ({ key, name, description })

const changesOf = (before: Named, after: Named): readonly Change[] =>
  (['name', 'description'] as const)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ title: words.change[field], before: before[field], after: after[field] }))

/** State of the namespace after a conflicting change, and that change. */
type Theirs = LoadedNamespace & { readonly last: Pick<ListedNamespace, 'changedAt' | 'changedBy'> | undefined }

const Form = ({ loaded, onClose }: { readonly loaded: LoadedNamespace; readonly onClose: () => void }) => {
  const [base, setBase] = useState(loaded)
  const [theirs, setTheirs] = useState<Theirs | undefined>()
  const [kept, setKept] = useState(false)
  const [gone, setGone] = useState(false)
  const form = useNamedForm(words.thing, words.taken, namedOf(base.namespace))
  const say = useSay()
  const { key } = base.namespace
  const start = namedOf(base.namespace)

  const submit = async (event: FormEvent) => {
    setKept(false)
    const outcome = await form.submit<Namespace>(event, (named, reason) =>
      namespaceUpdate(key, base.revision, named, reason),
    )
    if (!outcome) return
    if (outcome.done) {
      say(outcome.etag === base.revision ? states.nothingChanged : words.change.saved(key))
      return onClose()
    }
    const { status } = outcome.failure
    if (status === 412 || status === 404) await lookAgain()
  }
  const lookAgain = async () => {
    try {
      const [present, last] = await Promise.all([readNamespace(key), readLastChange(key)])
      setTheirs({ ...present, last })
      form.forget()
    } catch (error) {
      // Keep showing the first failure.
      if (!isFailure(error)) throw error
      setGone(error.status === 404)
    }
  }
  const goOn = (present: LoadedNamespace, mine: boolean) => {
    const next = namedOf(present.namespace)
    form.change(mine ? ofEach(start, form.named, next) : next)
    setBase(present)
    setTheirs(undefined)
    setKept(mine)
  }
  return (
    <>
      <NamespaceForm
        form={form}
        words={{ ...words.change, failed: states.nothingSaved }}
        exists
        onSubmit={submit}
        onClose={onClose}
      >
        {kept && (
          <p role="alert" className="alert warn">
            {pending.conflict.kept}
          </p>
        )}
      </NamespaceForm>
      {gone && (
        <Gone
          thing={words.thing}
          json={JSON.stringify({ name: form.named.name, description: form.named.description })}
          onClose={() => setGone(false)}
        />
      )}
      {theirs && (
        <Conflict
          thing={words.thing}
          who={theirs.last?.changedBy && actorName(theirs.last.changedBy)}
          when={theirs.last?.changedAt ?? theirs.namespace.updatedAt}
          theirs={changesOf(start, namedOf(theirs.namespace))}
          yours={changesOf(start, form.named)}
          onKeep={() => goOn(theirs, true)}
          onDiscard={() => goOn(theirs, false)}
        />
      )}
    </>
  )
}

/** Dialog that edits name and description of a namespace, read when it opens. */
export const EditNamespace = ({
  namespace: { key, name },
  onClose,
}: {
  readonly namespace: Namespace
  readonly onClose: () => void
}) => {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.namespace(key), 'editing'],
    queryFn: ({ signal }) => readNamespace(key, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return (
    <Dialog title={<Safe text={words.edit(name)} />} open onClose={onClose}>
      {error && <LoadFailed things={words.thing} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={3} />}
      {data ? (
        <Form loaded={data} onClose={onClose} />
      ) : (
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
        </Actions>
      )}
    </Dialog>
  )
}
