import { setting } from '../setting.ts'
import { integer } from '../types.ts'

const MOST = 2 ** 40

/** Settings under `budgets` (api.md §1.4): memory in bytes shared by all requests. */
export const budgets = {
  answers: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Maximum memory in bytes of all pending answers together. A request over the limit waits at most 5 s, and is then refused with 503 `busy`.',
  ),
  bodies: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Maximum memory in bytes of all pending request bodies together. A request over the limit is refused with 503 `busy`.',
  ),
} as const
