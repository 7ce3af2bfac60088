import { Type } from 'typebox'
import type { Sealer } from '../../events/personal.ts'
import { statusOf } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Names } from '../../contract/identifiers.ts'

/** The authentication record of api.md §5.1. */
export const Authentication = Type.Object({
  id: Type.String({ format: 'uuid' }),
  method: Type.String(),
  expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  metadata: Type.Record(Type.String(), Type.String()),
  status: Type.Enum(['ACTIVE', 'EXPIRED', 'DELETED']),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' })),
  issuedBy: Type.Optional(Type.String({ format: 'uuid' })),
})

/** `expiresAt` and `deletedAt` carry a fraction only when it is not zero. */
const short = (time: string): string => time.replace('.000Z', 'Z')

/** The record as clients see it: personal attributes opened, or marked erased. */
export const presentAuthentication = async (doc: TokenDoc, names: Names, sealer: Pick<Sealer, 'open'>, now: Date) => {
  const metadata: Record<string, string> = { ...doc.metadata }
  const put = (attributes: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(attributes)) metadata[names.metadataKey(name)] = value
  }
  put(doc.attributes)
  if (doc.profile !== undefined) {
    const opened = await sealer.open(doc.profile)
    put('text' in opened ? (JSON.parse(opened.text) as Record<string, string>) : { erased: 'true' })
  }
  return {
    id: doc.id,
    method: names.method(doc.method),
    ...(doc.expiresAt === undefined ? {} : { expiresAt: short(doc.expiresAt) }),
    createdAt: doc.createdAt,
    updatedAt: doc.updatedAt,
    metadata,
    status: statusOf(doc, now),
    ...(doc.deletedAt === undefined ? {} : { deletedAt: short(doc.deletedAt) }),
    ...(doc.issuedBy === undefined ? {} : { issuedBy: doc.issuedBy }),
  }
}
