import { bool, integer } from './types.ts'
import { setting } from './setting.ts'

/** The settings under `rate_limit` (api.md §2.4). */
export const rateLimit = {
  enabled: setting(bool, true, 'Limit failed credentials, logins and exchanges of one client address.'),
  client: setting(
    integer(0, 1_000_000_000),
    6000,
    'Requests that one publishable token (role client) may make from one client address in a minute; 0 is no limit.',
  ),
} as const
