import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { useWrite, type Write } from '../../api/write.ts'
import { useWhyNot } from '../../why-not.ts'
import { common } from '../../words/common.ts'
import { restore } from '../../words/restore.ts'
import { buttonClass, SubmitButton } from '../button.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { NotThere } from '../feedback/not-there.tsx'
import { Safe } from '../feedback/safe.tsx'
import { useSay } from '../feedback/status.tsx'
import { TextField } from '../fields/field.tsx'
import { useReason } from '../fields/use-reason.ts'
import { LoadFailed, Loading } from '../lists/states.tsx'
import { PageHead } from '../page.tsx'
import { useMomentWords } from './restored-notice.tsx'
import { usePastState } from './restoring.tsx'

const words = restore.again

type AgainProps<P> = {
  /** Name of the type in a sentence, at the start of a heading, and of the section. */
  readonly words: Readonly<Record<'thing' | 'notFound' | 'section', string>>
  readonly namespace: string
  /** Key of the deleted resource. */
  readonly name: string
  readonly moment: string
  readonly queryKey: readonly string[]
  readonly read: (moment: string, signal: AbortSignal) => Promise<P>
  /** Request that creates the resource with the name and description that it had. */
  readonly creation: (then: P, reason: string) => Write
  readonly first: string
}

/** Form that creates a resource whose other parts follow as a draft. */
export const AgainForm = ({
  words: { thing, notFound, section },
  heading,
  about,
  namespace,
  name,
  creation,
  first,
  begun,
}: Pick<AgainProps<never>, 'words' | 'namespace' | 'name' | 'first'> & {
  readonly heading: string
  /** Sentence that explains the two steps. */
  readonly about: string
  readonly creation: (reason: string) => Write
  /** Proposed reason. */
  readonly begun: string
}) => {
  const { send, sending } = useWrite()
  const say = useSay()
  const [reason, setReason] = useState(begun)
  const [failure, setFailure] = useState<Failure | undefined>()
  const { field, flawOf } = useReason(namespace)
  const wrong = flawOf(reason).reason
  const why = useWhyNot(undefined, { right: `${thing}.create`, namespaceKey: namespace })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (wrong !== undefined) return
    const outcome = await send(creation(reason))
    if (outcome?.done) say(words.created(notFound, name))
    else setFailure(outcome?.failure)
  }
  return (
    <>
      <PageHead heading={<Safe text={heading} />} title={[name, section, namespace]} />
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {failure && <FailureAlert title={words.failed(thing)} failure={failure} write />}
        <p>
          <Safe text={about} />
        </p>
        <ol className="steps">
          <li>{first}</li>
          <li>{words.second}</li>
        </ol>
        <TextField {...field} value={reason} wrong={wrong} onChange={setReason} />
        <div className="bar">
          <SubmitButton why={why} busy={sending ? words.sending : undefined}>
            {words.submit(thing)}
          </SubmitButton>
          <Link to="/ns/$ns/flags" params={{ ns: namespace }} className={buttonClass()}>
            {common.cancel}
          </Link>
        </div>
      </form>
    </>
  )
}

/** Page that creates a deleted resource again, so that its past state can be restored (ui.md §11.9). */
export const MakeAgain = <P,>({ moment, queryKey, read, creation, ...props }: AgainProps<P>): ReactNode => {
  const { data, failure, refetch, position, instant } = usePastState(['again', ...queryKey], moment, read)
  const shown = useMomentWords()({ position, instant })
  const { thing, notFound, section } = props.words
  if (data)
    return (
      <AgainForm
        {...props}
        heading={words.heading(thing, props.name)}
        about={words.why(thing, props.name, shown)}
        creation={(reason) => creation(data, reason)}
        begun={restore.reason(position)}
      />
    )
  if (failure?.status === 404)
    return <NotThere thing={thing} heading={notFound} name={props.name} namespace={props.namespace} />
  return (
    <>
      <PageHead heading={words.heading(thing, props.name)} title={[props.name, section, props.namespace]} />
      {failure ? <LoadFailed things={thing} error={failure} onRetry={() => void refetch()} /> : <Loading />}
    </>
  )
}
