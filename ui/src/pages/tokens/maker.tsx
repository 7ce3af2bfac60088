import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { EVERY, holds, useAccess } from '../../api/access.ts'
import { keys } from '../../api/keys.ts'
import { type Authentication, readToken } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { methodOf } from '../../login-methods.ts'
import { Happened } from '../../parts/editing/changed.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSession } from '../../session.tsx'
import { tokens as words } from '../../words/tokens.ts'

/**
 * Reads the record of a token's creator, which may be deleted. The record is read once per creator, and only if the
 * user may read all records.
 */
const useMaker = ({ issuedBy }: Authentication): Authentication | undefined => {
  const { authentication: own } = useSession()
  const { access } = useAccess()
  const { data } = useQuery({
    queryKey: [...keys.makers, issuedBy],
    queryFn: ({ signal }) => readToken(issuedBy!, undefined, signal),
    enabled:
      issuedBy !== undefined &&
      issuedBy !== own?.id &&
      access !== undefined &&
      holds(access, { right: 'token.read', namespaceKey: EVERY }),
    staleTime: Number.POSITIVE_INFINITY,
    retryOnMount: false,
  })
  return issuedBy !== undefined && issuedBy === own?.id ? own : data
}

/** Time and creator of a token. */
export const Made = ({ record }: { readonly record: Authentication }) => {
  const maker = useMaker(record)
  return <Happened at={record.createdAt} by={maker ? identityOf(maker) : record.issuedBy?.slice(0, 8)} />
}

/** Creator of a token, as a link to its record. */
export const Maker = ({ record }: { readonly record: Authentication }) => {
  const maker = useMaker(record)
  const { issuedBy } = record
  if (issuedBy === undefined) return <>{words.nobody}</>
  if (!maker) return <code>{issuedBy}</code>
  const to = methodOf(maker) === 'token' ? '/settings/tokens/$id' : '/settings/sessions/$id'
  return (
    <Link to={to} params={{ id: issuedBy }}>
      <Safe text={identityOf(maker)} />
    </Link>
  )
}
