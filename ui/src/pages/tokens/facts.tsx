import { serviceNow } from '../../api/clock.ts'
import type { Authentication } from '../../api/tokens.ts'
import { StateBadge } from '../../parts/lists/state-badge.tsx'
import { tokens as words } from '../../words/tokens.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 7

/** Badge of a token's state, or of its expiry if that is near. */
export const StatusBadge = ({ record: { status, expiresAt } }: { readonly record: Authentication }) => {
  const days = expiresAt === undefined ? Number.POSITIVE_INFINITY : (Date.parse(expiresAt) - serviceNow()) / DAY_MS
  if (status !== 'ACTIVE' || days >= SOON_DAYS) return <StateBadge status={status} />
  return <span className="badge warn">{days < 1 ? words.state.today : words.state.soon(Math.floor(days))}</span>
}
