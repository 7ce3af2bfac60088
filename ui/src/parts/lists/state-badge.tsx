import type { Authentication } from '../../api/tokens.ts'
import { tokens as words } from '../../words/tokens.ts'

const looks = { ACTIVE: 'badge on', EXPIRED: 'badge off', DELETED: 'badge gone' }

/** Badge of a record's state, as a word and a shape. */
export const StateBadge = ({ status }: Pick<Authentication, 'status'>) => (
  <span className={looks[status]}>{words.state[status]}</span>
)
