import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { keys } from './api/keys.ts'
import { whenUnauthorized } from './api/request.ts'
import { endSession, expireSelf, readSession, type Session } from './api/session.ts'
import { rememberSessionEnd, setServiceTheme } from './preferences.ts'
import { hear, tellSession } from './tabs.ts'
import { identityOf } from './identity.ts'

type Known = Session & {
  /** True once the service has refused this session; what is on the page stays. */
  readonly ended: boolean
  /** Called after signing in again. */
  readonly signedInAgain: () => Promise<void>
}

const Context = createContext<Known | undefined>(undefined)

/** Who is signed in, and what the service said of itself. */
export const useSession = (): Known => {
  const known = useContext(Context)
  if (!known) throw new Error('there is no session here')
  return known
}

/** The name of who is signed in. */
export const useIdentity = () => identityOf(useSession().authentication)

/** Asks who is signed in, once, before anything else is asked; `waiting` and `failed` are shown until there is an answer. */
export const SessionProvider = ({
  children,
  waiting,
  failed,
}: {
  readonly children: ReactNode
  readonly waiting: ReactNode
  readonly failed: (retry: () => void) => ReactNode
}) => {
  const client = useQueryClient()
  const [ended, setEnded] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: keys.session,
    queryFn: async ({ signal }) => {
      const session = await readSession(signal)
      setServiceTheme(session.ui.theme)
      return session
    },
    retry: true,
    retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 30_000),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const again = () => void refetch()
  useEffect(() => {
    whenUnauthorized(() => setEnded(true))
    return hear((told) => {
      if (told.kind === 'session') void client.invalidateQueries({ queryKey: keys.session })
      else if (told.kind === 'signed-out') window.location.replace(new URL('login', document.baseURI).href)
      else if (told.kind === 'written')
        for (const queryKey of told.keys) void client.invalidateQueries({ queryKey: [...queryKey] })
    })
  }, [client])
  useEffect(() => {
    const onShow = ({ persisted }: PageTransitionEvent) => {
      if (persisted) window.location.reload()
    }
    window.addEventListener('pageshow', onShow)
    return () => window.removeEventListener('pageshow', onShow)
  }, [])
  if (!data) return error ? failed(again) : waiting
  const signedInAgain = async () => {
    setEnded(false)
    tellSession('session')
    await client.invalidateQueries()
  }
  return <Context value={{ ...data, ended, signedInAgain }}>{children}</Context>
}

/** Leaves for the sign-in page once the session is gone. */
export const signedOutHere = (query = ''): void => {
  rememberSessionEnd(undefined)
  tellSession('signed-out')
  window.location.replace(new URL(`login${query}`, document.baseURI).href)
}

/** Signs out (ui.md §2.3): a session of a login ends at the service, any other token stays valid. Ends on the sign-in page, as a new document. */
export const signOut = async (session: Session): Promise<void> => {
  const login = ['METHOD_OIDC', 'METHOD_CODEHOST'].includes(session.authentication?.method ?? '')
  const left = login
    ? await expireSelf().then(
        () => false,
        () => true,
      )
    : false
  await endSession().catch(() => undefined)
  signedOutHere(left && session.sessionEndsAt ? `?ends=${encodeURIComponent(session.sessionEndsAt)}` : '')
}
