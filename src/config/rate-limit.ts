import { setting } from './setting.ts'
import { bool, integer } from './types.ts'

/** The settings under `rate_limit` (api.md §2.4). */
export const rateLimit = {
  enabled: setting(bool, true, 'Limit failed credentials, logins and exchanges.'),
  logins: setting(
    integer(1, 1_000_000_000),
    60,
    'Logins that may be begun from one client address in a minute. Who has begun is let in.',
  ),
  exchanges: setting(
    integer(0, 1_000_000_000),
    600,
    'Exchanges that one service account may make in a minute; 0 is no limit. Failed ones count by client address, 60 in a minute.',
  ),
  client: setting(
    integer(0, 1_000_000_000),
    6000,
    'Requests that one publishable token (role client) may make from one client address in a minute; 0 is no limit.',
  ),
} as const
