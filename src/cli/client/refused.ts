import { type About, type EXIT, fail } from '../../base/failure.ts'

const EXITS: Readonly<Record<number, keyof typeof EXIT>> = {
  401: 'denied',
  403: 'denied',
  404: 'notFound',
  409: 'conflict',
  412: 'conflict',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}
/** Exit codes by reason, which are more specific than the status (api.md §2.3). */
const REASONS: Readonly<Record<string, keyof typeof EXIT>> = {
  not_unique: 'conflict',
  rank_taken: 'conflict',
  in_use: 'conflict',
  not_empty: 'conflict',
  reason_required: 'usage',
}
const NEXT: Readonly<Record<string, string>> = {
  credential_missing: 'Set a token: ROLLCALL_TOKEN, --token-file PATH, or the file ~/.config/rollcall/token.',
  credential_invalid:
    'The token is unknown, expired or revoked. Use a different token, or create one on the host of the service: rollcall token create NAME --data DIR',
  token_scoped: 'The token in use was created for one namespace. Use a token with access to all namespaces.',
  right_missing: 'The token in use does not have this right: rollcall whoami lists its rights.',
  grant_exceeds: 'A token can grant no more rights than it has: rollcall whoami lists the rights of the token in use.',
  reason_required: 'Give the reason of the change: --reason TEXT',
  route_not_found:
    'The service does not have this route: check that the login method is enabled, and that the address is right.',
}

type Detail = { readonly value?: { readonly reason?: string; readonly metadata?: About } }
type ErrorBody = { readonly message?: unknown; readonly details?: readonly Detail[] }

/** Fails with the message of a refusal, and with the exit code of its reason or status. */
export const refused = (status: number, body: unknown): never => {
  const { message, details } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody
  const detail = Array.isArray(details) ? (details as readonly Detail[])[0]?.value : undefined
  const reason = detail?.reason ?? ''
  const text = typeof message === 'string' ? message : `HTTP status ${status}`
  return fail(
    REASONS[reason] ?? EXITS[status] ?? 'failed',
    `The service refused: ${text}`,
    NEXT[reason],
    detail?.metadata,
  )
}
