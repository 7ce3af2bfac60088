import { grantsInForce } from '../../access/holding.ts'
import type { Method, Names } from '../../contract/identifiers.ts'
import type { Authentication } from '../../contract/token.ts'
import type { Sealer } from '../../events/personal.ts'
import { statusOf } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'

/** Metadata key of an attribute: `token.name` → `io.service.auth.token.name`. */
const metadataKey = ({ metadataPrefix, metadataWords }: Names, attribute: string): string => {
  const [group = '', ...rest] = attribute.split('.')
  const word = rest.length > 0 && Object.hasOwn(metadataWords, group) ? metadataWords[group as Method] : group
  return metadataPrefix + [word, ...rest].join('.')
}

/** Removes a zero fraction from `expiresAt` and `deletedAt`. */
export const short = (time: string): string => time.replace('.000Z', 'Z')

/** Grants of a record with the rights in force, if it has any. */
export const grantsShown = (doc: TokenDoc): Pick<Authentication, 'grants'> => {
  const grants = doc.grants && grantsInForce(doc)
  return grants ? { grants } : {}
}

/** The record for clients: personal attributes decrypted, or marked as erased or lost. */
export const presentAuthentication = async (
  doc: TokenDoc,
  names: Names,
  sealer: Pick<Sealer, 'open'>,
  now: Date,
  lastUsedAt?: string,
): Promise<Authentication> => {
  const metadata: Record<string, string> = { ...doc.metadata }
  const put = (attributes: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(attributes)) metadata[metadataKey(names, name)] = value
  }
  put(doc.attributes)
  if (doc.profile !== undefined) {
    const opened = await sealer.open(doc.profile)
    if ('text' in opened) put(JSON.parse(opened.text) as Record<string, string>)
    else put('erased' in opened ? { erased: 'true' } : { lost: 'true' })
  }
  return {
    id: doc.id,
    method: names.method[doc.method],
    ...(doc.expiresAt === undefined ? {} : { expiresAt: short(doc.expiresAt) }),
    createdAt: doc.createdAt,
    updatedAt: doc.updatedAt,
    metadata,
    status: statusOf(doc, now),
    ...(doc.deletedAt === undefined ? {} : { deletedAt: short(doc.deletedAt) }),
    ...(doc.issuedBy === undefined ? {} : { issuedBy: doc.issuedBy }),
    ...(doc.ending === undefined ? {} : { ending: doc.ending }),
    ...grantsShown(doc),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: short(lastUsedAt) }),
  }
}
