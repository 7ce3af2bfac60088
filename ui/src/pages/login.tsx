import { ChevronDownIcon, ChevronRightIcon, SignInIcon } from '@primer/octicons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { serviceNow } from '../api/clock.ts'
import { type Failure, isFailure } from '../api/failure.ts'
import { keys } from '../api/keys.ts'
import { beginLogin, type Provider, readMethods } from '../api/methods.ts'
import { Button } from '../parts/button.tsx'
import { messageOf, RequestId } from '../parts/feedback/alert.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { TokenForm } from '../parts/fields/token-form.tsx'
import { Loading } from '../parts/lists/states.tsx'
import { instantWords } from '../parts/moment.ts'
import { rememberSessionEnd, rememberSessionLeft, sessionLeft, signedOut, usePreferences } from '../preferences.ts'
import { providerAddress, returnPath } from '../return-path.ts'
import { useSession } from '../session.tsx'
import { Environment } from '../shell/environment.tsx'
import { tellSession } from '../tabs.ts'
import { common } from '../words/common.ts'
import { login } from '../words/login.ts'
import { isOfAccount, isStale, loginFailure, loginFailureOf, requestRef } from '../words/login-failures.ts'
import { methodWords } from '../words/methods.ts'

const here = getRouteApi('/login')

type Refused = { readonly key: string; readonly words: string; readonly id: string | undefined }

/** Message for a login that could not start. */
const beginFailed = (error: Failure, name: string): string => {
  if (error.reason === 'provider_mismatch') return loginFailure(error.reason).title
  if (error.status === 404) return loginFailure('not_found').title
  return error.status === 503 || error.status === 0 ? login.unreachable(name) : messageOf(error)
}

/** Button for each provider. While one opens, the others are disabled. */
const Providers = ({
  providers,
  returnTo,
  anew,
}: {
  readonly providers: readonly Provider[]
  readonly returnTo: string
  /** Whether the provider must ask for credentials, because another person may want to sign in. */
  readonly anew: boolean
}) => {
  const [opening, setOpening] = useState<string | undefined>()
  const [failed, setFailed] = useState<Refused | undefined>()
  const open = async (provider: Provider, name: string) => {
    setOpening(provider.key)
    setFailed(undefined)
    const fail = (words: string, id?: string) => {
      setFailed({ key: provider.key, words, id })
      setOpening(undefined)
    }
    try {
      const address = providerAddress(await beginLogin(provider, returnTo, anew))
      if (address === undefined) fail(login.badAddress)
      else {
        rememberSessionEnd(undefined)
        rememberSessionLeft(undefined)
        window.location.assign(address)
      }
    } catch (error) {
      if (!isFailure(error)) throw error
      fail(beginFailed(error, name), error.requestId)
    }
  }
  return (
    <div className="tight">
      {providers.map((provider) => {
        const name = provider.name ?? methodWords[provider.method].with
        return (
          <div className="tight" key={provider.key}>
            <Button
              busy={opening === provider.key ? login.opening(name) : undefined}
              why={opening !== undefined && opening !== provider.key ? login.opening(name) : undefined}
              onClick={() => void open(provider, name)}
            >
              <SignInIcon />
              {login.continueWith(name)}
            </Button>
            {failed?.key === provider.key && (
              <span className="wrong" role="alert">
                {failed.words}
                {failed.id !== undefined && <RequestId id={failed.id} />}
              </span>
            )}
          </div>
        )
      })}
    </div>
  )
}

/** Alert of a failed sign-in, from the parameters of the address. */
const Failed = ({ error, id }: { readonly error: string; readonly id: string | undefined }) => {
  const { refused } = useSession()
  const who = isOfAccount(error) && refused?.requestId === id ? refused : undefined
  const { title, check } = loginFailureOf(error, who?.cause)
  return (
    <div role="alert" className="alert">
      <strong>{title}</strong>
      {who && (
        <p>
          <Safe text={login.providerSays(who)} />
        </p>
      )}
      <p>{check}</p>
      {id !== undefined && <RequestId id={id} />}
    </div>
  )
}

const TokenPart = ({ alone, onSignedIn }: { readonly alone: boolean; readonly onSignedIn: () => void }) => {
  const [open, setOpen] = useState(alone)
  const form = <TokenForm onSignedIn={onSignedIn} />
  if (alone)
    return (
      <>
        {form}
        <p className="hint">{login.firstStart}</p>
      </>
    )
  return (
    <>
      <Button look="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        {login.withToken}
        {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
      </Button>
      {open && form}
    </>
  )
}

/** Sign-in page (ui.md §11.1). */
export const Login = () => {
  const { error, ref, return_to, signed_out } = here.useSearch()
  const { authenticated, ui } = useSession()
  const { zone } = usePreferences()
  const client = useQueryClient()
  const returnTo = returnPath(return_to)
  const methods = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  const providers = methods.data?.providers ?? []
  const left = sessionLeft()
  const out = signedOut()
  const signedIn = () => {
    client.clear()
    rememberSessionLeft(undefined)
    tellSession('session')
    window.location.replace(returnTo)
  }
  const away = authenticated && (error === undefined || isStale(error))
  useEffect(() => {
    document.title = [ui.topbarLabel, login.title, common.product].filter(Boolean).join(' · ')
  }, [ui.topbarLabel])
  useEffect(() => {
    if (away) window.location.replace(returnTo)
  }, [away, returnTo])
  if (away) return null
  const endsAt = left !== undefined && Date.parse(left) > serviceNow() ? instantWords(left, zone) : undefined
  return (
    <main className="login">
      <div>
        <div className="bar">
          <strong>{common.product}</strong>
          <Environment />
        </div>
        <h1>{login.title}</h1>
        {error !== undefined && <Failed error={error} id={requestRef(ref)} />}
        {(out === 'here' || out === 'provider') && (
          <p role="status">{out === 'provider' && signed_out ? login.signedOut : login.signedOutHere}</p>
        )}
        {endsAt !== undefined && (
          <div role="alert" className="alert warn">
            <p>{login.sessionStays(endsAt)}</p>
          </div>
        )}
        {methods.isPending ? (
          <Loading rows={2} />
        ) : (
          <>
            {providers.length > 0 && (
              <Providers
                providers={providers}
                returnTo={returnTo}
                anew={out !== undefined || (error !== undefined && isOfAccount(error))}
              />
            )}
            <TokenPart alone={providers.length === 0} onSignedIn={signedIn} />
          </>
        )}
      </div>
    </main>
  )
}
