import { setting } from '../setting.ts'
import { integer } from '../types.ts'

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
