import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { EVERY, holds, useAccess } from '../api/access.ts'
import { keys } from '../api/keys.ts'
import { type Authentication, readToken } from '../api/tokens.ts'
import { identityOf } from '../identity.ts'
import { methodOf } from '../login-methods.ts'
import { useSession } from '../session.tsx'
import { Safe } from './feedback/safe.tsx'

/**
 * Reads a token record by id for its name, also if deleted. Each record is read once, and only if the user may read
 * all records.
 */
export const useRecord = (id: string | undefined): Authentication | undefined => {
  const { authentication: own } = useSession()
  const { access } = useAccess()
  const { data } = useQuery({
    queryKey: [...keys.makers, id],
    queryFn: ({ signal }) => readToken(id!, undefined, signal),
    enabled:
      id !== undefined &&
      id !== own?.id &&
      access !== undefined &&
      holds(access, { right: 'token.read', namespaceKey: EVERY }),
    staleTime: Number.POSITIVE_INFINITY,
    retryOnMount: false,
  })
  return id !== undefined && id === own?.id ? own : data
}

/** Name of a token record as a link to its page; its id if the record cannot be read. */
export const RecordLink = ({ id }: { readonly id: string }) => {
  const record = useRecord(id)
  if (!record) return <code>{id}</code>
  const to = methodOf(record) === 'token' ? '/settings/tokens/$id' : '/settings/sessions/$id'
  return (
    <Link to={to} params={{ id }}>
      <Safe text={identityOf(record)} />
    </Link>
  )
}
