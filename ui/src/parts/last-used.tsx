import type { Authentication } from '../api/tokens.ts'
import { common } from '../words/common.ts'
import { Time } from './time.tsx'

/** Time of the last use of a token; “not known” if the record has none. */
export const LastUsed = ({ record: { lastUsedAt } }: { readonly record: Authentication }) => (
  <Time instant={lastUsedAt} toHour absent={common.notKnown} />
)
