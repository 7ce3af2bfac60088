import { serviceNow } from '../../api/clock.ts'
import { type Authentication, boundTo } from '../../api/tokens.ts'
import { StateBadge } from '../../parts/state-badge.tsx'
import { tokens as words } from '../../words/tokens.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 7

/** In which state a token is, and whether it ends soon. */
export const StatusBadge = ({ record: { status, expiresAt } }: { readonly record: Authentication }) => {
  const days = expiresAt === undefined ? Number.POSITIVE_INFINITY : (Date.parse(expiresAt) - serviceNow()) / DAY_MS
  if (status !== 'ACTIVE' || days >= SOON_DAYS) return <StateBadge status={status} />
  return <span className="badge warn">{days < 1 ? words.state.today : words.state.soon(Math.floor(days))}</span>
}

/** What a token may do, and where. */
export const AccessWords = ({ record }: { readonly record: Authentication }) => {
  const namespace = boundTo(record)
  if (namespace !== undefined) return <>{words.of(namespace)}</>
  const endless = record.expiresAt === undefined && record.status === 'ACTIVE'
  return endless ? <span className="badge warn bare">{words.endless}</span> : <>{words.full}</>
}
