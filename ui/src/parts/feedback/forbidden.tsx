import { serviceNow } from '../../api/clock.ts'
import type { Failure } from '../../api/failure.ts'
import { identityOf } from '../../identity.ts'
import { usePreferences } from '../../preferences.ts'
import { useSession } from '../../session.tsx'
import { states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { useCopy } from '../copy.tsx'
import { fullWords } from '../moment.ts'
import { PageHead } from '../page.tsx'
import { FailureAlert, messageOf, RequestId } from './alert.tsx'
import { Safe } from './safe.tsx'

/** Button that copies a message to an administrator who can grant the missing right. */
const TellAdministrator = ({ missing }: Pick<Failure, 'missing'>) => {
  const { authentication } = useSession()
  const { zone } = usePreferences()
  const { copy, told } = useCopy()
  if (!missing || !authentication) return null
  const write = () => {
    const who = `${identityOf(authentication)} (${authentication.id})`
    const time = fullWords(new Date(serviceNow()).toISOString(), zone)
    const words = states.pleaseGive(who, missing.right, missing.namespaceKey, window.location.href, time)
    copy(words, states.messageToAdministrator)
  }
  return (
    <div>
      <Button onClick={write}>{states.tellAdministrator}</Button>
      {told}
    </div>
  )
}

/** Alert that replaces content that the user may not read; names the missing right. */
export const Forbidden = ({ failure }: { readonly failure: Failure }) => (
  <FailureAlert title={states.forbidden} failure={failure}>
    <TellAdministrator missing={failure.missing} />
  </FailureAlert>
)

/** Page that replaces one that the user may not read. */
export const ForbiddenPage = ({ failure }: { readonly failure: Failure }) => (
  <div className="stack">
    <PageHead heading={states.forbidden} title={[states.forbidden]} />
    <p>
      <Safe text={messageOf(failure)} />
    </p>
    {failure.requestId !== undefined && <RequestId id={failure.requestId} />}
    <TellAdministrator missing={failure.missing} />
  </div>
)
