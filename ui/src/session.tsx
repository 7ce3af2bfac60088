import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'
import { isFailure } from './api/failure.ts'
import { keys } from './api/keys.ts'
import { whenForbidden, whenUnauthorized } from './api/request.ts'
import { endSession, expireSelf, readSession, type Session } from './api/session.ts'
import { holderOf, identityOf, isLogin } from './identity.ts'
import { rememberSessionEnd, rememberSessionLeft, rememberSignedOut, setServiceTheme } from './preferences.ts'
import { basePath, providerAddress } from './return-path.ts'
import { hear, tellSession } from './tabs.ts'

/** Reason to ask for a new sign-in: the session has ended, or ends soon. */
type Asking = 'ended' | 'early' | undefined

type Known = Session & {
  /** Identity under which this page was opened; its data was read and typed under it. */
  readonly openedBy: Session['authentication']
  /** Whether the page requires a sign-in first. */
  readonly away: boolean
  /** Whether the browser now has the session of another identity. */
  readonly other: boolean
  readonly asking: Asking
  readonly ask: (why: Asking) => void
  /** Called after signing in again. */
  readonly signedInAgain: () => Promise<void>
}

const Context = createContext<Known | undefined>(undefined)

/** Returns the session and the service's information about itself. */
export const useSession = (): Known => {
  const known = useContext(Context)
  if (!known) throw new Error('there is no session here')
  return known
}

/** Display name of the signed-in identity. */
export const useIdentity = () => identityOf(useSession().authentication)

/** Hides a page from the back-forward cache until its session is confirmed; reloads it if the session has changed. */
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

/** Reads the session before any other request. Shows `waiting` or `failed` until there is an answer. */
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
      if (session.authenticated) rememberSignedOut(undefined)
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
    return hear((message) => {
      if (message.kind === 'session') void check()
      else if (message.kind === 'signed-out') window.location.replace(`${basePath()}/login`)
      else if (message.kind === 'written')
        for (const queryKey of message.keys) void client.invalidateQueries({ queryKey: [...queryKey] })
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

/**
 * Opens the sign-in page after a sign-out, or first the address of a logout at the provider. `left` is the expiry of a
 * session that could not be revoked.
 */
export const signedOutHere = (left?: string, logoutUrl = `${basePath()}/login`): void => {
  whenUnauthorized(() => undefined)
  rememberSessionEnd(undefined)
  rememberSessionLeft(left)
  tellSession('signed-out')
  window.location.replace(logoutUrl)
}

let isLeaving = false

/**
 * Signs out once (ui.md §2.3): revokes the token of a login; any other token stays valid. Loads the sign-in page as a new
 * document. A login whose provider has a logout is signed out there too.
 */
export const signOut = async ({ authentication, sessionEndsAt }: Session): Promise<void> => {
  if (isLeaving) return
  isLeaving = true
  const isOfLogin = authentication !== undefined && isLogin(authentication)
  let left: string | undefined
  const logoutUrl = isOfLogin
    ? await expireSelf().catch((error: unknown) => {
        // 401: the session has ended already.
        if (!isFailure(error) || error.status !== 401) left = sessionEndsAt
        return undefined
      })
    : undefined
  await endSession().catch(() => undefined)
  const address = logoutUrl && providerAddress(logoutUrl)
  rememberSignedOut(address ? 'provider' : isOfLogin ? 'here' : 'token')
  signedOutHere(left, address)
}
