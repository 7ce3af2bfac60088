import { isRefusal } from '../../errors.ts'
import type { LastChange } from '../../projections/resource-model.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'

/**
 * Last change of a document for lists. For a static token it includes the token's name, unless the token view is
 * unavailable.
 */
export const lastChanges = ({ views }: { readonly views: Pick<Views, 'get'> }) => {
  const known = new Map<string, Promise<string | undefined>>()
  const read = (id: string): Promise<string | undefined> =>
    views.get<TokenDoc>(tokens, id).then(
      (row) => row?.doc?.attributes['token.name'],
      (error: unknown) => {
        if (isRefusal(error, 'backend_unavailable') || isRefusal(error, 'view_behind')) return undefined
        throw error
      },
    )
  const nameOf = (id: string): Promise<string | undefined> => {
    const name = known.get(id) ?? read(id)
    known.set(id, name)
    return name
  }
  return async ({ changedAt, changedBy }: LastChange) => {
    if (changedBy === undefined) return { changedAt }
    const name = changedBy.method === 'token' && changedBy.id !== undefined ? await nameOf(changedBy.id) : undefined
    return { changedAt, changedBy: { ...changedBy, ...(name !== undefined && { name }) } }
  }
}
