import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'
import { keys } from './api/keys.ts'
import { whenForbidden, whenUnauthorized } from './api/request.ts'
import { endSession, expireSelf, readSession, type Session } from './api/session.ts'
import { holderOf, identityOf, isLogin } from './identity.ts'
import { rememberSessionEnd, rememberSessionLeft, rememberSignedOut, setServiceTheme } from './preferences.ts'
import { basePath } from './return-path.ts'
import { hear, tellSession } from './tabs.ts'

/** Why somebody is asked to sign in again: the session has ended, or will soon. */
export type Asking = 'ended' | 'early' | undefined

type Known = Session & {
  /** Who opened this page: what stands on it was read, and typed, by them. */
  readonly openedBy: Session['authentication']
  /** Whether the page must not be shown before somebody signs in. */
  readonly away: boolean
  /** Whether the browser's session is somebody else's by now. */
  readonly other: boolean
  readonly asking: Asking
  readonly ask: (why: Asking) => void
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

/** A page that the browser kept is shown again only if its session is still there. */
const useKeptPage = (holder: string): void => {
  useEffect(() => {
    const { dataset } = document.documentElement
    const onHide = () => {
      dataset['kept'] = ''
    }
    const onShow = ({ persisted }: PageTransitionEvent) => {
      if (!persisted) return
      const show = ({ authentication }: Session) => {
        if (holderOf(authentication) === holder) delete dataset['kept']
        else window.location.reload()
      }
      readSession().then(show, () => window.location.reload())
    }
    window.addEventListener('pagehide', onHide)
    window.addEventListener('pageshow', onShow)
    return () => {
      window.removeEventListener('pagehide', onHide)
      window.removeEventListener('pageshow', onShow)
    }
  }, [holder])
}

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
  const { data, failureCount, refetch } = useQuery({
    queryKey: keys.session,
    queryFn: async ({ signal }) => {
      const session = await readSession(signal)
      setServiceTheme(session.ui.theme)
      if (session.authenticated) rememberSignedOut(false)
      return session
    },
    retry: true,
    retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 30_000),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })
  const [asking, ask] = useState<Asking>()
  const [opened, setOpened] = useState<Session | undefined>()
  if (data && !opened) setOpened(data)
  const holder = holderOf(opened?.authentication)
  const goesOn = useCallback((now: Session) => holderOf(now.authentication) === holder, [holder])
  const check = useCallback(async () => {
    const { data: now } = await refetch()
    if (!now) return
    if (goesOn(now)) {
      ask(undefined)
      await client.invalidateQueries({ predicate: ({ queryKey: [name] }) => name !== keys.session[0] })
    } else if (!now.authenticated) ask('ended')
  }, [client, refetch, goesOn])
  useEffect(() => {
    whenUnauthorized(() => ask('ended'))
    whenForbidden(() => void client.invalidateQueries({ queryKey: keys.access }))
    return hear((told) => {
      if (told.kind === 'session') void check()
      else if (told.kind === 'signed-out') window.location.replace(`${basePath()}/login`)
      else if (told.kind === 'written')
        for (const queryKey of told.keys) void client.invalidateQueries({ queryKey: [...queryKey] })
    })
  }, [client, check])
  useKeptPage(holder)
  if (!data || !opened) {
    const retry = () => void client.cancelQueries({ queryKey: keys.session }).then(() => refetch())
    return failureCount > 0 ? failed(retry) : waiting
  }
  const known: Known = {
    ...data,
    openedBy: opened.authentication,
    away: opened.required && !opened.authenticated,
    other: data.authenticated && !goesOn(data),
    asking,
    ask,
    signedInAgain: async () => {
      tellSession('session')
      await check()
    },
  }
  return <Context value={known}>{children}</Context>
}

/** Leaves for the sign-in page once the session is gone. `left` is when it ends all the same, where the service could not end it. */
export const signedOutHere = (left?: string): void => {
  whenUnauthorized(() => undefined)
  rememberSessionEnd(undefined)
  rememberSessionLeft(left)
  tellSession('signed-out')
  window.location.replace(`${basePath()}/login`)
}

/** Signs out (ui.md §2.3): a session of a login ends at the service, any other token stays valid. Ends on the sign-in page, as a new document. */
export const signOut = async (session: Session): Promise<void> => {
  const { authentication } = session
  const left =
    authentication && isLogin(authentication)
      ? await expireSelf().then(
          () => false,
          () => true,
        )
      : false
  await endSession().catch(() => undefined)
  rememberSignedOut(true)
  signedOutHere(left ? session.sessionEndsAt : undefined)
}
