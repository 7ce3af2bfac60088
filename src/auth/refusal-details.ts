import { type Reason, Refusal, whyOf } from '../base/errors.ts'
import { type LoginCause, loginCauses } from '../base/login-causes.ts'

/** Values for the placeholders in a cause's sentence. */
export type Gaps = Readonly<Record<string, string | number>>
type Extras = {
  readonly message?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** The provider's error code. The code is omitted if it does not have the form of an error code. */
  readonly providerError?: unknown
  /** The provider's error description, filtered by `providerSays`. */
  readonly providerSays?: string | undefined
}
/** Details of a refusal for the operator's log. These details are never sent to a client. */
type RefusalDetails = {
  readonly fault: LoginCause
  readonly change: string
  readonly providerError?: string
  readonly providerSays?: string
}
type Row = { readonly reason: Reason; readonly why: string; readonly change: string }

const rows: ReadonlyMap<string, Row> = new Map(
  Object.entries(loginCauses).flatMap(([reason, causes]) =>
    Object.entries<readonly [string, string]>(causes).map(
      ([cause, [why, change]]) => [cause, { reason: reason as Reason, why, change }] as const,
    ),
  ),
)

const PROVIDER_CODE = /^[a-z_]{1,64}$/
/** Returns a provider's error code if it has the form of one (RFC 6749 §5.2). */
export const providerCode = (code: unknown): string | undefined =>
  typeof code === 'string' && PROVIDER_CODE.test(code) ? code : undefined

/** Reason and log sentence of a cause. */
export const causeRow = (fault: LoginCause): Row => rows.get(fault)!

/** Creates the refusal of a login or an exchange for a cause. The cause is logged for the operator. */
export const refusalFor = (fault: LoginCause, gaps: Gaps = {}, extras: Extras = {}): Refusal => {
  const { reason, why, change } = causeRow(fault)
  const [error, description] = [providerCode(extras.providerError), extras.providerSays]
  const details: RefusalDetails = {
    fault,
    change,
    ...(error !== undefined && { providerError: error }),
    ...(description !== undefined && { providerSays: description }),
  }
  const sentence = why.replaceAll(/\{(\w+)\}/g, (gap, name: string) => String(gaps[name] ?? gap))
  const { message, metadata } = extras
  return new Refusal(reason, message, {
    ...(reason === 'provider_unavailable' && { headers: { 'retry-after': '5' } }),
    ...(metadata && { metadata }),
    cause: Object.assign(new Error(sentence), details),
  })
}

/** Details of an error for the operator; empty if the error is not a refusal from the table of causes. */
export const refusalDetailsOf = (error: unknown): Partial<RefusalDetails> => {
  const cause = error instanceof Refusal ? error.cause : undefined
  if (!(cause instanceof Error && 'fault' in cause)) return {}
  const { fault, change, providerError, providerSays } = cause as Error & RefusalDetails
  return { fault, change, ...(providerError && { providerError }), ...(providerSays && { providerSays }) }
}

/** Returns the refusal with an addition to its cause. */
export const withMore = (refusal: Refusal, more: string): Refusal => {
  const { reason, message, headers, metadata } = refusal
  const cause = Object.assign(new Error([whyOf(refusal), more].filter(Boolean).join('; ')), refusalDetailsOf(refusal))
  return new Refusal(reason, message, { headers, metadata, cause })
}
