import { setting } from './setting.ts'
import { integer } from './types.ts'

const MOST = 2 ** 40

/** The settings under `budgets` (api.md §1.4): bytes of memory that all requests may hold together. */
export const budgets = {
  answers: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Bytes that all answers under way may hold together. What finds no room waits for up to five seconds, and is then refused with 503 `busy`.',
  ),
  bodies: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Bytes that all request bodies under way may hold together. What finds no room is refused with 503 `busy`.',
  ),
} as const
