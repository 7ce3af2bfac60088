/** Every refusal of the service: reason, HTTP status, gRPC code number and default sentence (api.md §2). Source of docs/errors.md. */
export const refusals = {
  invalid_argument: { status: 400, code: 3, sentence: 'invalid argument' },
  malformed_body: { status: 400, code: 3, sentence: 'request body is not valid JSON' },
  malformed_path: { status: 400, code: 3, sentence: 'malformed path' },
  invalid_header: { status: 400, code: 3, sentence: 'invalid header' },
  reason_required: { status: 400, code: 3, sentence: 'a reason is required' },
  invalid_page_token: { status: 400, code: 3, sentence: 'pageToken is not valid' },
  invalid_at: { status: 400, code: 3, sentence: 'invalid field at' },
  duplicate_credential: { status: 400, code: 3, sentence: 'credential given twice' },
  expiry_not_earlier: {
    status: 400,
    code: 3,
    sentence: 'invalid field expiresAt: must not be later than the present expiry',
  },
  not_unique: { status: 400, code: 3, sentence: 'not unique' },
  rank_taken: { status: 400, code: 3, sentence: 'rank number already exists' },
  in_use: { status: 400, code: 3, sentence: 'resource is in use' },
  protected: { status: 400, code: 3, sentence: 'namespace is protected' },
  not_empty: { status: 400, code: 3, sentence: 'namespace cannot be deleted; flags must be deleted first' },
  type_change: { status: 400, code: 3, sentence: 'cannot change type of rollout' },
  answer_too_large: { status: 400, code: 3, sentence: 'answer is too large' },
  wrong_flag_type: { status: 400, code: 3, sentence: 'flag type invalid' },
  quota_exceeded: { status: 400, code: 9, sentence: 'quota exceeded' },
  read_only: { status: 400, code: 9, sentence: 'modification is not allowed in read-only mode' },
  credential_missing: { status: 401, code: 16, sentence: 'request was not authenticated' },
  credential_invalid: { status: 401, code: 16, sentence: 'request was not authenticated' },
  email_not_allowed: { status: 401, code: 16, sentence: 'request was not authenticated' },
  membership_required: { status: 401, code: 16, sentence: 'request was not authenticated' },
  state_missing: { status: 401, code: 16, sentence: 'missing state parameter' },
  state_mismatch: { status: 401, code: 16, sentence: 'unexpected state parameter' },
  login_expired: { status: 401, code: 16, sentence: 'login has expired' },
  login_signed_out: { status: 401, code: 16, sentence: 'the provider signed the person out' },
  login_replayed: { status: 401, code: 16, sentence: 'login was already used' },
  issuer_mismatch: { status: 401, code: 16, sentence: 'unexpected issuer' },
  provider_error: { status: 401, code: 16, sentence: 'provider refused the login' },
  code_refused: { status: 401, code: 16, sentence: 'code was refused' },
  userinfo_invalid: { status: 401, code: 16, sentence: 'userinfo was refused' },
  identity_too_large: { status: 401, code: 16, sentence: 'the provider tells more of this person than is kept' },
  id_token_invalid: { status: 401, code: 16, sentence: 'ID token was refused' },
  logout_token_invalid: { status: 400, code: 3, sentence: 'logout token was refused' },
  logout_token_replayed: { status: 400, code: 3, sentence: 'logout token was used before' },
  service_account_token_invalid: { status: 401, code: 16, sentence: 'verifying service account: token was refused' },
  service_account_not_allowed: { status: 403, code: 7, sentence: 'permission denied' },
  token_scoped: { status: 403, code: 7, sentence: 'permission denied' },
  right_missing: { status: 403, code: 7, sentence: 'permission denied' },
  grant_exceeds: { status: 403, code: 7, sentence: 'permission denied' },
  no_grant: { status: 403, code: 7, sentence: 'permission denied' },
  host_not_allowed: { status: 403, code: 7, sentence: 'this host is not allowed' },
  cross_site: { status: 403, code: 7, sentence: 'permission denied' },
  route_not_found: { status: 404, code: 5, sentence: 'Not Found' },
  not_found: { status: 404, code: 5, sentence: 'resource not found' },
  method_not_allowed: { status: 405, code: 12, sentence: 'Method Not Allowed' },
  write_conflict: { status: 409, code: 10, sentence: 'the resource is being changed by others; try again' },
  idempotency_mismatch: { status: 409, code: 10, sentence: 'idempotency key was used with another request' },
  idempotency_in_progress: { status: 409, code: 10, sentence: 'a request with this idempotency key is in progress' },
  revision_moved: { status: 412, code: 9, sentence: 'revision moved' },
  path_too_long: { status: 414, code: 3, sentence: 'path is too long' },
  body_too_large: { status: 413, code: 3, sentence: 'request body is too large' },
  unsupported_charset: { status: 415, code: 3, sentence: 'unsupported charset' },
  rate_limited: { status: 429, code: 8, sentence: 'too many requests' },
  cancelled: { status: 499, code: 1, sentence: 'client closed request' },
  headers_too_large: { status: 431, code: 3, sentence: 'request headers are too large' },
  internal: { status: 500, code: 13, sentence: 'internal error' },
  view_behind: { status: 503, code: 14, sentence: 'view is behind' },
  event_unreadable: { status: 503, code: 14, sentence: 'resource cannot be read by this version of the service' },
  release_in_progress: {
    status: 503,
    code: 14,
    sentence: 'this cannot be written until every instance is of a version that can read it',
  },
  auth_stale: { status: 503, code: 14, sentence: 'service is temporarily unavailable' },
  backend_unavailable: { status: 503, code: 14, sentence: 'service is temporarily unavailable' },
  busy: { status: 503, code: 14, sentence: 'service is busy' },
  history_busy: { status: 503, code: 14, sentence: 'history is busy' },
  ledger_suspended: { status: 503, code: 14, sentence: 'sealing is suspended' },
  oauth_client_refused: { status: 503, code: 14, sentence: 'provider refused the client of this service' },
  provider_mismatch: { status: 503, code: 14, sentence: 'provider and configuration do not fit' },
  provider_unavailable: { status: 503, code: 14, sentence: 'service is temporarily unavailable' },
  orchestrator_unavailable: { status: 503, code: 14, sentence: 'service is temporarily unavailable' },
  deadline_exceeded: { status: 504, code: 4, sentence: 'deadline exceeded' },
} as const satisfies Record<string, { status: number; code: number; sentence: string }>

export type Reason = keyof typeof refusals

export type FieldViolation = { readonly field: string; readonly description: string }
type Extras = {
  readonly violation?: FieldViolation
  readonly headers?: Readonly<Record<string, string>>
  readonly metadata?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/**
 * The one error class: a refusal with its reason; status and gRPC code follow from the catalogue. The message is shown
 * to clients, `cause` never is. A refusal because of a client's mistake has no stack trace, because creating one takes
 * longer than everything else.
 */
export class Refusal extends Error {
  readonly reason: Reason
  readonly status: number
  readonly code: number
  readonly violation: FieldViolation | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: Reason, message: string = refusals[reason].sentence, extras: Extras = {}) {
    const { stackTraceLimit } = Error
    if (refusals[reason].status < 500) Error.stackTraceLimit = 0
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.reason = reason
    this.status = refusals[reason].status
    this.code = refusals[reason].code
    this.violation = extras.violation
    this.headers = extras.headers ?? {}
    this.metadata = extras.metadata ?? {}
  }
}

/** Refuses with a reason of the catalogue, and with its default sentence if no message is given. */
export const refuse = (reason: Reason, message?: string, extras?: Extras): never => {
  throw new Refusal(reason, message, extras)
}

/** Refuses one field: `invalid field f: description` with the field violation of api.md §2.1. */
export const invalid = (field: string, description: string, reason: Reason = 'invalid_argument'): never =>
  refuse(reason, `invalid field ${field}: ${description}`, { violation: { field, description } })

/**
 * Returns the error of one item of a request: the field of a refusal begins with the index of the item, and a refusal
 * without a field has the index in its `metadata` as `member`. Any other error is returned unchanged.
 */
const placed = (error: unknown, place: string): unknown => {
  if (!(error instanceof Refusal)) return error
  const { reason, message, violation, headers, cause } = error
  const { member, ...metadata } = error.metadata
  if (violation) {
    const { description } = violation
    const field = `${place}.${violation.field}`
    const message = `invalid field ${field}: ${description}`
    return new Refusal(reason, message, { headers, cause, metadata, violation: { field, description } })
  }
  return new Refusal(reason, message, {
    headers,
    cause,
    metadata: { ...metadata, member: member === undefined ? place : `${place}.${member}` },
  })
}

/** Returns the result of the work; its refusals name the item of the request that caused them. */
export const inPlace = <T>(place: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw placed(error, place)
  }
}

/** True for a refusal with this reason. */
export const isRefusal = (error: unknown, reason: Reason): error is Refusal =>
  error instanceof Refusal && error.reason === reason

/** Root cause of an error: the last of its causes that has a message. */
export const rootCause = (error: unknown): unknown => {
  const cause = error instanceof AggregateError ? error.errors[0] : error instanceof Error ? error.cause : undefined
  return cause instanceof Error && (cause.message !== '' || cause instanceof AggregateError) ? rootCause(cause) : error
}

/** Returns the cause of a failure for the log, on one line and without the credentials of URLs: the cause of a refusal, or the error itself. */
export const whyOf = (error: unknown): string | undefined => {
  const cause = error instanceof Refusal ? error.cause : error
  if (!(cause instanceof Error)) return undefined
  const [line = ''] = (cause.message || cause.name).split('\n', 1)
  return line.replaceAll(/\/\/[^/@\s]*@/g, '//').slice(0, 300)
}

/** Message of a thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
