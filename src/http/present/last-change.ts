import { isRefusal } from '../../base/errors.ts'
import type { LastChange } from '../../projections/resource-model.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'
import type { EventFields } from '../../verifier/export/event-fields.ts'

type TokenView = { readonly views: Pick<Views, 'get'> }

/** Names of the static tokens that acted; undefined for other actors, and while the token view is unavailable. */
export const actorNames = ({
  views,
}: TokenView): ((actor: Pick<EventFields['actor'], 'method' | 'id'>) => Promise<string | undefined>) => {
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
  return async ({ method, id }) => (method === 'token' && id !== undefined ? nameOf(id) : undefined)
}

/** Last change of a document for lists. The last change by a static token includes the name of the token. */
export const lastChanges = (service: TokenView) => {
  const nameOf = actorNames(service)
  return async ({ changedAt, changedBy }: LastChange) => {
    if (changedBy === undefined) return { changedAt }
    const name = await nameOf(changedBy)
    return { changedAt, changedBy: { ...changedBy, ...(name !== undefined && { name }) } }
  }
}
