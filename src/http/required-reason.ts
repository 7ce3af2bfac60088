import { EVERYWHERE } from '../access/grants.ts'
import { refuse } from '../base/errors.ts'
import type { NewToken } from '../contract/token.ts'
import type { Exchange } from './route/pipeline.ts'
import type { Guarded } from './route/statements.ts'

type Grants = Partial<Pick<NewToken, 'grants'>>

/** Namespaces that a write changes; `*` stands for all namespaces or the deployment. */
const changedBy = async (
  { namespace: place, changes }: Guarded,
  { request, body, fields }: Exchange,
): Promise<readonly string[]> => {
  const params = request.params as Readonly<Record<string, string>>
  if (changes) return [changes(params, body)]
  if (place === 'default') return ['default']
  if (typeof place === 'string') return [EVERYWHERE]
  if ('param' in place) return [params[place.param]!]
  if ('record' in place) return [(await place.record(params)) ?? EVERYWHERE]
  if (!('made' in place)) return [EVERYWHERE]
  const { grants = [] } = (fields ?? {}) as Grants
  return [place.made(body), ...grants.map(({ namespaceKey }) => namespaceKey)]
}

/** True for writes that no person decides on: logins, exchanges, and the end of the caller's own token. */
const isOfCaller = ({ right }: Guarded): boolean => right === 'none' || right === 'self.use'

/**
 * Refuses a write without a reason in the namespaces of `authorization.require_reason` with 400 `reason_required`. A
 * route whose body has a reason needs no header.
 */
export const insistOnReason = async (required: readonly string[], exchange: Exchange): Promise<undefined> => {
  const { access } = exchange.spec
  if (access.credential === 'public' || isOfCaller(access)) return undefined
  if ((exchange.fields as { readonly reason?: string } | undefined)?.reason) return undefined
  const changed = await changedBy(access, exchange)
  const found = required.includes(EVERYWHERE) ? changed[0] : changed.find((key) => required.includes(key))
  if (found === undefined) return undefined
  const where = found === EVERYWHERE ? '' : ` in namespace ${JSON.stringify(found.slice(0, 255))}`
  return refuse('reason_required', `a reason is required${where}: send it in the header Event-Reason`)
}
