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

/** A message to who can give the right that is missing. */
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

/** What somebody may not see, in its place: which right is missing where. */
export const Forbidden = ({ failure }: { readonly failure: Failure }) => (
  <FailureAlert title={states.forbidden} failure={failure}>
    <TellAdministrator missing={failure.missing} />
  </FailureAlert>
)

/** The same in the place of a whole page. */
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
