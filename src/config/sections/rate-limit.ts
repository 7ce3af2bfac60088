import { setting } from '../setting.ts'
import { bool, integer } from '../types.ts'

/** Settings under `rate_limit` (api.md §2.4). */
export const rateLimit = {
  enabled: setting(bool, true, 'Limit failed credentials, logins and exchanges.'),
  logins: setting(
    integer(1, 1_000_000_000),
    60,
    'Maximum logins started per client address and minute. A started login may finish even if the limit is reached.',
  ),
  exchanges: setting(
    integer(0, 1_000_000_000),
    600,
    'Maximum exchanges per service account and minute; 0 means no limit. Failed exchanges are limited to 60 per client address and minute.',
  ),
  client: setting(
    integer(0, 1_000_000_000),
    6000,
    'Maximum requests per publishable token (role client), client address and minute; 0 means no limit.',
  ),
} as const
