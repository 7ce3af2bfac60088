import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import type { Authentication } from '../../api/tokens.ts'
import { identityOf, metadataOf, wayOf } from '../../identity.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSession } from '../../session.tsx'
import { sessions as words } from '../../words/sessions.ts'

/** What is told of a person whose data is gone, in place of a name. */
const goneOf = (record: Authentication): string | undefined => {
  if (metadataOf(record, 'erased') === 'true') return words.erased
  return metadataOf(record, 'lost') === 'true' ? words.lost : undefined
}

/** What else a person is called: the e-mail address, else the name at the provider. */
const alsoOf = (record: Authentication): string | undefined => {
  const name = identityOf(record)
  return [metadataOf(record, 'email'), metadataOf(record, 'preferred_username')].find(
    (also) => also !== undefined && also !== name,
  )
}

/** Whether a record is that of the session that looks at it. */
export const useIsOwn = (): ((record: Authentication) => boolean) => {
  const { authentication } = useSession()
  return ({ id }) => id === authentication?.id
}

/** Whose session it is; `linked` as the name of a row. */
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

/** How each session came about: by which provider, as the sign-in page calls it. */
export const useHow = (): ((record: Authentication) => string) => {
  const { data } = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  return (record) => {
    const way = wayOf(record)
    if (way === 'orchestrator' || way === 'token') return words.methods.orchestrator
    const key = way === 'oidc' ? (metadataOf(record, 'oidc.provider') ?? '') : ''
    const named = data?.providers.find((provider) => provider.key === key)?.name
    return named ?? (key === '' ? words.methods[way] : key)
  }
}
