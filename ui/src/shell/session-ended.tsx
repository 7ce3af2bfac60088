import { useQuery, useQueryClient } from '@tanstack/react-query'
import { keys } from '../api/keys.ts'
import { readMethods } from '../api/methods.ts'
import { identityOf } from '../identity.ts'
import { Button } from '../parts/button.tsx'
import { Actions, Dialog } from '../parts/feedback/dialog.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { TokenForm } from '../parts/fields/token-form.tsx'
import { rememberSessionEnd } from '../preferences.ts'
import { basePath, loginAddress } from '../return-path.ts'
import { useIdentity, useSession } from '../session.tsx'
import { common, states } from '../words/common.ts'
import { login } from '../words/login.ts'
import { methodWords } from '../words/methods.ts'

const Ways = () => {
  const { asking, ask, signedInAgain } = useSession()
  const client = useQueryClient()
  const methods = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  const leave = () => {
    rememberSessionEnd(undefined)
    client.clear()
    window.location.replace(`${basePath()}/login`)
  }
  return (
    <>
      <p>{asking === 'early' ? login.againWhy : login.endedWhy}</p>
      {methods.data?.providers.map(({ key, method, name = methodWords[method].with }) => (
        <a
          key={key}
          className="button"
          href={loginAddress(`${basePath()}/signed-in`)}
          target="_blank"
          rel="noopener"
          onClick={() => rememberSessionEnd(undefined)}
        >
          {login.newTab(name)}
        </a>
      ))}
      <TokenForm onSignedIn={() => void signedInAgain()} />
      <Actions>
        {asking === 'early' ? (
          <Button onClick={() => ask(undefined)}>{common.cancel}</Button>
        ) : (
          <Button onClick={leave}>{common.leave}</Button>
        )}
      </Actions>
    </>
  )
}

/**
 * Dialog to sign in again after or shortly before the session ends; the page below keeps its state. After a sign-in as
 * another identity the page must be reloaded.
 */
export const SessionEnded = () => {
  const { asking, ask, other, openedBy } = useSession()
  const name = useIdentity()
  if (other)
    return (
      <Dialog title={login.otherTitle} open onClose={() => undefined} firm>
        <p>
          <Safe text={login.otherIdentity(name, identityOf(openedBy))} />
        </p>
        <Actions>
          <Button look="primary" onClick={() => window.location.reload()}>
            {states.reloadPage}
          </Button>
        </Actions>
      </Dialog>
    )
  return (
    <Dialog
      title={asking === 'early' ? login.signInAgain : login.ended}
      open={asking !== undefined}
      onClose={() => ask(undefined)}
      firm={asking === 'ended'}
    >
      <Ways />
    </Dialog>
  )
}
