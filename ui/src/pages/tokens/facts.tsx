import { serviceNow } from '../../api/clock.ts'
import { type Authentication, boundTo } from '../../api/tokens.ts'
import { tokens as words } from '../../words/tokens.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 7

/** In which state a token is: a word, and a shape. */
export const StatusBadge = ({ record: { status, expiresAt } }: { readonly record: Authentication }) => {
  if (status !== 'ACTIVE')
    return <span className={status === 'DELETED' ? 'badge gone' : 'badge off'}>{words.state[status]}</span>
  const days = expiresAt === undefined ? Number.POSITIVE_INFINITY : (Date.parse(expiresAt) - serviceNow()) / DAY_MS
  if (days >= SOON_DAYS) return <span className="badge on">{words.state.ACTIVE}</span>
  return <span className="badge warn">{days < 1 ? words.state.today : words.state.soon(Math.floor(days))}</span>
}

/** What a token may do, and where. */
export const AccessWords = ({ record }: { readonly record: Authentication }) => {
  const namespace = boundTo(record)
  if (namespace !== undefined) return <>{words.of(namespace)}</>
  const endless = record.expiresAt === undefined && record.status === 'ACTIVE'
  return endless ? <span className="badge warn bare">{words.endless}</span> : <>{words.full}</>
}
