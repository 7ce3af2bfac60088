import { createHash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import type { Row } from './views.ts'

/**
 * SHA-256 in base64 of the document of a row, equal for equal documents. Revision and position are left out, because a
 * stored row may lack those of events that change nothing.
 */
export const rowHash = ({ changes, doc, unreadable }: Row): string =>
  createHash('sha256')
    .update(
      canonical({
        changes: String(changes),
        ...(doc && { doc }),
        ...(unreadable && { unreadable: unreadable.revision }),
      }),
    )
    .digest('base64')
