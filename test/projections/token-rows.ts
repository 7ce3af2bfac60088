import { createHash } from 'node:crypto'
import type { TokenDoc } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'

export const NOW = '2026-01-01T00:00:00.000Z'

export const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
export const digestOf = (n: number) => `k.${createHash('sha256').update(String(n)).digest('base64url')}`
/** Row of token n; `doc` overrides fields. */
export const rowOf = (n: number, doc: Partial<TokenDoc> = {}, revision = 0n): Row<TokenDoc> => ({
  key: idOf(n),
  revision,
  position: 1n,
  changes: 1n,
  doc: {
    id: idOf(n),
    digest: digestOf(n),
    method: 'token',
    access: doc.namespace === undefined ? 'FULL' : 'NAMESPACED',
    createdAt: NOW,
    updatedAt: NOW,
    began: 1,
    attributes: {},
    metadata: {},
    ...doc,
  },
})
