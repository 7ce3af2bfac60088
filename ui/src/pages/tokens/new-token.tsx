import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Access, EVERY, holds, placesOf, type Roles, useAccess, useRoles } from '../../api/access.ts'
import { type Failure, isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { creation, type IssuedToken, readTokens } from '../../api/tokens.ts'
import { useWrite } from '../../api/write.ts'
import { Button } from '../../parts/button.tsx'
import { same } from '../../parts/editing/editing.ts'
import { LeaveGuard } from '../../parts/editing/leave-guard.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { useFocusFirstWrong } from '../../parts/feedback/wrong.ts'
import { TextArea, TextField } from '../../parts/fields/field.tsx'
import { useReason } from '../../parts/fields/use-reason.ts'
import { useSettled } from '../../parts/lists/settled.ts'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { common } from '../../words/common.ts'
import { tokens as words } from '../../words/tokens.ts'
import { Expiration, firstChoice } from './expiration.tsx'
import { AccessFields, boundPlaces, freshPlace } from './new-token-access.tsx'
import { bodyOf, type Draft, flawsOf, namespacesOf, refusedFields, type Wrong } from './new-token-draft.ts'
import { LostToken, Reveal } from './reveal.tsx'

const { form } = words

/**
 * Whether an active token has the same name, which is allowed. The name is checked only if the user may read tokens.
 */
const useIsTaken = (typed: string, namespace: string, access: Access): boolean => {
  const name = useSettled(typed.trim())
  const all = holds(access, { right: 'token.read', namespaceKey: EVERY })
  const filter = {
    kind: 'static',
    status: 'ACTIVE',
    identity: name,
    ...(!all && { namespaceKey: namespace }),
  } as const
  const { data } = useQuery({
    queryKey: [...keys.tokens, filter],
    queryFn: ({ signal }) => readTokens(filter, signal),
    enabled: name !== '' && (all || placesOf(access, 'token.read').includes(namespace)),
  })
  return name === typed.trim() && (data?.totalCount ?? 0) > 0
}

const freshDraft = (access: Access): Draft => {
  const places = boundPlaces(access)
  return {
    name: '',
    description: '',
    expiry: firstChoice(),
    scope: places ? 'one' : 'all',
    namespace: places?.[0] ?? '',
    role: '',
    places: [freshPlace()],
    everywhere: '',
    reason: '',
  }
}

/** Replaces the message of the service for some failures. */
const wordsOf = ({ reason, exceeding }: Failure): { readonly words?: string } => {
  if (reason === 'token_scoped') return { words: form.scoped }
  return exceeding ? { words: form.exceeds(exceeding) } : {}
}

type Known = { readonly access: Access; readonly roles: Roles; readonly onClose: () => void }

const Form = ({ access, roles, onClose, onMade }: Known & { readonly onMade: (made: IssuedToken) => void }) => {
  const [draft, setDraft] = useState<Draft>(() => freshDraft(access))
  const [first] = useState(draft)
  const [wrong, setWrong] = useState<Wrong>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const { field, flawOf } = useReason(...namespacesOf(draft))
  const taken = useIsTaken(draft.name, draft.namespace, access)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const flaws = { ...flawsOf(draft), ...flawOf(draft.reason) }
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const outcome = await send<IssuedToken>(creation(bodyOf(draft), draft.reason))
    if (!outcome) return
    if (outcome.done) return onMade(outcome.value)
    const refused = refusedFields(outcome.failure, draft)
    setWrong(refused)
    if (Object.keys(refused).length > 0) return focusWrong()
    setFailure(outcome.failure)
  }

  return (
    <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
      <LeaveGuard changes={Number(!same(draft, first))} />
      {failure && <FailureAlert title={form.failed} failure={failure} write {...wordsOf(failure)} />}
      <TextField
        label={form.name}
        value={draft.name}
        {...(taken && { notice: form.duplicate })}
        wrong={wrong['name']}
        onChange={(name) => change({ name })}
      />
      <TextArea
        label={form.description}
        hint={form.descriptionHint}
        rows={2}
        value={draft.description}
        wrong={wrong['description']}
        onChange={(description) => change({ description })}
      />
      <Expiration chosen={draft.expiry} wrong={wrong['expiry']} onChange={(expiry) => change({ expiry })} />
      <AccessFields draft={draft} wrong={wrong} access={access} roles={roles} onChange={change} />
      <TextField {...field} value={draft.reason} wrong={wrong['reason']} onChange={(reason) => change({ reason })} />
      <Actions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button type="submit" look="primary" busy={sending ? words.creating : undefined}>
          {form.submit}
        </Button>
      </Actions>
    </form>
  )
}

/** Dialog that creates a static token and shows it once. */
export const NewToken = ({ onClose }: { readonly onClose: () => void }) => {
  const { access, error: noAccess, refetch: askAccess } = useAccess()
  const { data: roles, error: noRoles, refetch: askRoles } = useRoles()
  const [made, setMade] = useState<IssuedToken | undefined>()
  const error = noAccess ?? noRoles
  if (made)
    return made.clientToken === undefined ? (
      <LostToken record={made.authentication} onClose={onClose} />
    ) : (
      <Reveal issued={made} onDone={onClose} />
    )
  return (
    <Dialog title={form.title} open onClose={onClose}>
      {access && roles ? (
        <Form access={access} roles={roles} onClose={onClose} onMade={setMade} />
      ) : isFailure(error) ? (
        <LoadFailed things={form.roles} error={error} onRetry={() => void Promise.all([askAccess(), askRoles()])} />
      ) : (
        <Loading />
      )}
    </Dialog>
  )
}
