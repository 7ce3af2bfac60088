import type { Authentication } from '../api/tokens.ts'
import { common } from '../words/common.ts'
import { Time } from './time.tsx'

/** When a token was last used: where its record tells none, that is not known. */
export const LastUsed = ({ record: { lastUsedAt } }: { readonly record: Authentication }) => (
  <Time instant={lastUsedAt} toHour absent={common.notKnown} />
)
