/** Violation that the service reports for a field of a request. */
export type FieldViolation = { readonly field: string; readonly description: string }

/** Right that a credential lacks. `namespaceKey` `*` means in every namespace; absent means everywhere. */
type MissingRight = { readonly right: string; readonly namespaceKey?: string | undefined }

type FailureFacts = {
  /** 0 if there was no answer. */
  readonly status: number
  readonly reason: string
  readonly requestId?: string | undefined
  readonly fields?: readonly FieldViolation[]
  readonly missing?: MissingRight | undefined
  /** Right that the request would grant although the caller does not hold it. */
  readonly exceeding?: MissingRight | undefined
  /** Value of `Retry-After`, in seconds. */
  readonly retryAfter?: number | undefined
}

/** Failed request. */
export class Failure extends Error implements FailureFacts {
  declare readonly status: number
  declare readonly reason: string
  declare readonly requestId?: string | undefined
  declare readonly fields: readonly FieldViolation[]
  declare readonly missing?: MissingRight | undefined
  declare readonly exceeding?: MissingRight | undefined
  declare readonly retryAfter?: number | undefined

  constructor(message: string, facts: FailureFacts) {
    super(message)
    Object.assign(this, { name: 'Failure', fields: [] }, facts)
  }
}

export const isFailure = (error: unknown): error is Failure => error instanceof Failure

/** Whether the write may or may not have taken effect. */
export const isUnknown = ({ status }: Failure): boolean => status === 0 || status >= 500

type ErrorBody = {
  readonly message?: string
  readonly details?: readonly {
    readonly value?: {
      readonly reason?: string
      readonly metadata?: { readonly requestId?: string; readonly right?: string; readonly namespaceKey?: string }
      readonly fieldViolations?: readonly FieldViolation[]
    }
  }[]
}

/** Converts an error answer of the service to a `Failure` (api.md §2.1). */
export const failureOf = async (answer: Response): Promise<Failure> => {
  const body = (await answer.json().catch(() => ({}))) as ErrorBody
  const { reason = '', metadata, fieldViolations = [] } = body.details?.[0]?.value ?? {}
  const about =
    metadata?.right === undefined ? undefined : { right: metadata.right, namespaceKey: metadata.namespaceKey }
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  return new Failure(body.message ?? answer.statusText, {
    status: answer.status,
    reason,
    requestId: metadata?.requestId ?? answer.headers.get('x-request-id') ?? undefined,
    fields: fieldViolations,
    missing: reason === 'right_missing' ? about : undefined,
    exceeding: reason === 'grant_exceeds' ? about : undefined,
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
  })
}
