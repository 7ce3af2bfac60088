import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { keys } from '../api/keys.ts'
import { readMethods } from '../api/methods.ts'
import { Actions, Dialog } from '../parts/dialog.tsx'
import { TokenForm } from '../parts/token-form.tsx'
import { basePath } from '../return-path.ts'
import { useSession } from '../session.tsx'
import { common } from '../words/common.ts'
import { login } from '../words/login.ts'

/** Asks to sign in again once the service has refused the session; the page beneath stays as it is. */
export const SessionEnded = () => {
  const { ended, authenticated, authentication, signedInAgain } = useSession()
  const client = useQueryClient()
  const before = useRef(authentication?.id)
  const methods = useQuery({
    queryKey: keys.methods,
    queryFn: ({ signal }) => readMethods(signal),
    enabled: ended,
  })
  useEffect(() => {
    if (ended && authenticated && authentication?.id !== before.current) void signedInAgain()
    if (!ended) before.current = authentication?.id
  }, [ended, authenticated, authentication?.id, signedInAgain])
  const leave = () => {
    client.clear()
    window.location.replace(`${basePath()}/login`)
  }
  return (
    <Dialog title={login.ended} open={ended} onClose={() => undefined} firm>
      <p>{login.endedWhy}</p>
      {methods.data?.providers.map(({ key, name = login.codehost }) => (
        <a
          key={key}
          className="button"
          href={`${basePath()}/login?return_to=/signed-in`}
          target="_blank"
          rel="noopener"
        >
          {login.newTab(name)}
        </a>
      ))}
      <TokenForm onSignedIn={() => void signedInAgain()} />
      <Actions>
        <button type="button" className="button" onClick={leave}>
          {common.leave}
        </button>
      </Actions>
    </Dialog>
  )
}
