import { refuse } from '../errors.ts'

const MAX_BYTES = 16_384
/** Longest part of an account that is kept. */
const MOST_CHARACTERS = 512
const MAX_MS = Date.UTC(10_000, 0, 1) - 1
const PART = /^[A-Za-z0-9_-]+$/
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA)$/
const USERNAME = /^system:serviceaccount:([^:]+):([^:]+)$/

/** A service account as a token or the cluster names it. */
export type Account = {
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  readonly podName?: string
  readonly podUid?: string
  /** What the cluster's own log calls the token: `JTI=` and its id. */
  readonly credentialId?: string
}

/** A verified service account; `expiresAt` is the presented token's own, or when the cluster means it to be renewed. */
export type ServiceAccount = Account & { readonly expiresAt: Date }

/** Who may come in; `*` as namespace or account name stands for all. */
export type Allowed = readonly { readonly namespace: string; readonly serviceAccounts: readonly string[] }[]

/** Refuses a presented token (401). The sentence names no part of it. */
export const refuseToken = (sentence = 'token was refused', cause?: unknown): never =>
  refuse('service_account_token_invalid', `verifying service account: ${sentence}`, { cause })

/** What a token says of itself, unverified. Refuses one that cannot be valid whoever signed it, without a call to the cluster. */
export const presented = (token: string, now: Date): ServiceAccount => {
  if (token.length > MAX_BYTES) return refuseToken('token is larger than 16 KiB')
  const parts = token.split('.')
  const [header, payload] = parts.slice(0, 2).map(decoded)
  if (parts.length !== 3 || !parts.every((part) => PART.test(part)) || !header || !payload)
    return refuseToken('token is not a JWT')
  if (typeof header['alg'] !== 'string' || !ALGORITHM.test(header['alg']))
    return refuseToken('token is not signed by a cluster')
  return { ...claimed(payload), expiresAt: expiryOf(payload, now) }
}

const decoded = (part: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

const msOf = (seconds: unknown): number =>
  typeof seconds === 'number' ? Math.trunc(Number((seconds * 1000).toFixed(3))) : Number.NaN

/** The lesser of `exp` and `kubernetes.io.warnafter`: clusters give pods tokens of a year, and mean an hour. */
const expiryOf = (payload: Readonly<Record<string, unknown>>, now: Date): Date => {
  const ends = msOf(payload['exp'])
  if (!(ends <= MAX_MS)) return refuseToken('token has no usable expiry')
  const meant = msOf(member(payload, 'kubernetes.io')?.['warnafter'])
  const ms = meant < ends ? meant : ends
  return ms > now.getTime() ? new Date(ms) : refuseToken('token has expired')
}

/** The account that unverified claims name: by the claim object `kubernetes.io` or by the subject, which must not differ. */
const claimed = (payload: Readonly<Record<string, unknown>>): Account => {
  const { byClaim, bySubject, details } = namesIn(payload)
  if (byClaim && bySubject && !agree(byClaim, bySubject)) return refuseToken('token names two accounts')
  return { ...(byClaim ?? bySubject ?? refuseToken('token names no service account')), ...details }
}

/** The account of verified claims: the claim object `kubernetes.io` must name it, and a subject must not name another. */
export const signedFor = (payload: Readonly<Record<string, unknown>>): Account => {
  const { byClaim, bySubject, details } = namesIn(payload)
  if (!byClaim) return refuseToken('token has no usable claim kubernetes.io')
  if (payload['sub'] !== undefined && (!bySubject || !agree(byClaim, bySubject)))
    return refuseToken('token has another subject than its service account')
  return { ...byClaim, ...details }
}

const namesIn = (payload: Readonly<Record<string, unknown>>) => {
  const claim = member(payload, 'kubernetes.io')
  const [account, pod] = [member(claim, 'serviceaccount'), member(claim, 'pod')]
  return {
    byClaim: named(claim?.['namespace'], account?.['name']),
    bySubject: accountNamed(payload['sub']),
    details: accountDetails({
      uid: account?.['uid'],
      podName: pod?.['name'],
      podUid: pod?.['uid'],
      credentialId: credentialIdOf(payload['jti']),
    }),
  }
}

/** The account behind a user name of the form `system:serviceaccount:<namespace>:<name>`. */
export const accountNamed = (username: unknown): Account | undefined => {
  const [, namespace, name] = (typeof username === 'string' && USERNAME.exec(username)) || []
  return named(namespace, name)
}

const credentialIdOf = (jti: unknown): unknown => (typeof jti === 'string' && jti !== '' ? `JTI=${jti}` : undefined)

type Details = Readonly<Record<'uid' | 'podName' | 'podUid' | 'credentialId', unknown>>
/** The parts that are there. */
export const accountDetails = (parts: Details): Partial<Account> =>
  Object.fromEntries(
    Object.entries(parts).filter(
      ([, part]) => typeof part === 'string' && part !== '' && part.length <= MOST_CHARACTERS,
    ),
  )

/** False when the two name something differently; what one of them leaves out is no difference. */
export const agree = (a: Account, b: Account): boolean =>
  (['namespace', 'name', 'uid', 'podName', 'podUid'] as const).every(
    (part) => (a[part] ?? b[part]) === (b[part] ?? a[part]),
  )

/** Whether the account is on the list; an empty list takes every account. */
export const isAllowed = (allowed: Allowed, { namespace, name }: Account): boolean =>
  allowed.length === 0 ||
  allowed.some(
    (entry) =>
      ['*', namespace].includes(entry.namespace) &&
      entry.serviceAccounts.some((account) => ['*', name].includes(account)),
  )

const member = (
  object: Readonly<Record<string, unknown>> | undefined,
  name: string,
): Readonly<Record<string, unknown>> | undefined => {
  const value = object?.[name]
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
}

const named = (namespace: unknown, name: unknown): Account | undefined =>
  typeof namespace === 'string' && typeof name === 'string' && namespace !== '' && name !== ''
    ? { namespace, name }
    : undefined
