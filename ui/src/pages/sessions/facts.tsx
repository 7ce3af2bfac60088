import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import type { Authentication } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { loginMethods, methodOf } from '../../login-methods.ts'
import { metadataOf } from '../../metadata.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSession } from '../../session.tsx'
import { methodWords } from '../../words/methods.ts'
import { sessions as words } from '../../words/sessions.ts'

/** Text in place of the name of a person whose data was erased or lost. */
const goneOf = (record: Authentication): string | undefined => {
  if (metadataOf(record, 'erased') === 'true') return words.erased
  return metadataOf(record, 'lost') === 'true' ? words.lost : undefined
}

/** Email address or login name by which the sessions of a person are found at all providers. */
export const searchedBy = (record: Authentication): string | undefined =>
  metadataOf(record, 'email') ?? metadataOf(record, 'preferred_username')

/** Secondary name of a person: the email address, else the user name at the provider. */
const alsoOf = (record: Authentication): string | undefined => {
  const name = identityOf(record)
  return [metadataOf(record, 'email'), metadataOf(record, 'preferred_username')].find(
    (also) => also !== undefined && also !== name,
  )
}

/** Returns a predicate: whether a record is that of the present session. */
const useIsOwn = (): ((record: Authentication) => boolean) => {
  const { authentication } = useSession()
  return ({ id }) => id === authentication?.id
}

/** Holder of a session; `linked` if it is the row header. */
export const Who = ({ record, linked = false }: { readonly record: Authentication; readonly linked?: boolean }) => {
  const own = useIsOwn()(record)
  const gone = goneOf(record)
  const name = <Safe text={gone ?? identityOf(record)} />
  const also = gone === undefined ? alsoOf(record) : record.id.slice(0, 8)
  return (
    <>
      {linked ? (
        <Link to="/settings/sessions/$id" params={{ id: record.id }}>
          {name}
        </Link>
      ) : (
        name
      )}
      {own && (
        <>
          {' '}
          <span className="badge on">{words.you}</span>
        </>
      )}
      {also !== undefined && (
        <span className="key">
          <Safe text={also} />
        </span>
      )}
    </>
  )
}

/** Returns a function that names the provider of a session as the sign-in page does. */
export const useHow = (): ((record: Authentication) => string) => {
  const { data } = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  return (record) => {
    const method = methodOf(record)
    const key = loginMethods[method].providerOf?.(record) ?? ''
    const named = data?.providers.find((provider) => provider.method === method && provider.key === key)?.name
    return named ?? (key === '' ? methodWords[method].session : key)
  }
}
