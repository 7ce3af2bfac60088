import { setting } from '../setting.ts'
import { bool, integer } from '../types.ts'

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

/** Settings under `quotas` (api.md §7.8). */
export const quotas = {
  flags_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Maximum flags of a namespace.'),
  segments_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Maximum segments of a namespace.'),
  bytes_per_namespace: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    268_435_456,
    'Maximum size in bytes of all flags and segments of a namespace, as JSON in UTF-8. All of them are in memory.',
  ),
  namespaces: setting(integer(1, Number.MAX_SAFE_INTEGER), 10_000, 'Maximum namespaces.'),
  tokens_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    100_000,
    'Maximum number of undeleted static tokens created by one credential. All callers without a credential count as one credential.',
  ),
  grant_bytes_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    33_554_432,
    'Maximum size in bytes of the rights of all undeleted static tokens created by one credential, as text (the names of the rights by namespace).',
  ),
} as const

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
