import { setting } from './setting.ts'
import { integer } from './types.ts'

/** The settings under `quotas` (api.md §7.8). */
export const quotas = {
  flags_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Flags that a namespace may have.'),
  segments_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Segments that a namespace may have.'),
  bytes_per_namespace: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    268_435_456,
    'Bytes that the flags and segments of a namespace may have together, as JSON in UTF-8; memory holds them all.',
  ),
  namespaces: setting(integer(1, Number.MAX_SAFE_INTEGER), 10_000, 'Namespaces that there may be.'),
  tokens_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    100_000,
    'Static tokens that one credential may have made and that are not deleted; callers without a credential are one.',
  ),
  grant_bytes_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    33_554_432,
    'Bytes that the rights of those tokens may have together, as their names by namespace; memory holds them while there is room.',
  ),
} as const
