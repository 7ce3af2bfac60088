import { isPrintable } from '../../base/control-characters.ts'
import { refuse } from '../../base/errors.ts'
import { isObject, objectOfPart } from '../identity.ts'
import { SIGNATURES } from '../outgoing/authority.ts'

const MAX_BYTES = 16_384
/** Maximum length of an attribute of an account. Longer attributes are dropped. */
const MOST_CHARACTERS = 512
const MAX_MS = Date.UTC(10_000, 0, 1) - 1
const PART = /^[A-Za-z0-9_-]+$/
const USERNAME = /^system:serviceaccount:([^:]+):([^:]+)$/

/** Service account as named by a token or by the cluster. */
export type Account = {
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  readonly podName?: string
  readonly podUid?: string
  /** Id of the token in the cluster's audit log: `JTI=<jti>`. */
  readonly credentialId?: string
}

/** Verified service account. `expiresAt` is the earlier of the token's expiry and its renewal time. */
export type ServiceAccount = Account & { readonly expiresAt: Date }

/** Allowed accounts; `*` as namespace or account name matches all. */
export type Allowed = readonly { readonly namespace: string; readonly serviceAccounts: readonly string[] }[]

/** Refuses a presented token (401). The sentence contains no part of the token. */
export const refuseToken = (sentence = 'token was refused', cause: unknown = new Error(sentence)): never =>
  refuse('service_account_token_invalid', `verifying service account: ${sentence}`, { cause })

/** Reads the unverified claims of a token. Refuses a token that cannot be valid, without a call to the cluster. */
export const presented = (token: string, now: Date): ServiceAccount => {
  if (token.length > MAX_BYTES) return refuseToken('token is larger than 16 KiB')
  const parts = token.split('.')
  const [header, payload] = parts.slice(0, 2).map(objectOfPart)
  if (parts.length !== 3 || !parts.every((part) => PART.test(part)) || !header || !payload)
    return refuseToken('token is not a JWT')
  if (typeof header['alg'] !== 'string' || !SIGNATURES.includes(header['alg']))
    return refuseToken('token is not signed by a cluster')
  return { ...claimed(payload), expiresAt: expiryOf(payload, now) }
}

const msOf = (seconds: unknown): number =>
  typeof seconds === 'number' ? Math.trunc(Number((seconds * 1000).toFixed(3))) : Number.NaN

/**
 * Earlier of `exp` and `kubernetes.io.warnafter`, because pods get tokens that are valid for a year but renewed hourly.
 */
const expiryOf = (payload: Claims, now: Date): Date => {
  const ends = msOf(payload['exp'])
  if (!(ends <= MAX_MS)) return refuseToken('token has no usable expiry')
  const meant = msOf(member(payload, 'kubernetes.io')?.['warnafter'])
  const ms = meant < ends ? meant : ends
  return ms > now.getTime() ? new Date(ms) : refuseToken('token has expired')
}

/**
 * Account in unverified claims, from the claim `kubernetes.io` or the subject. The function refuses a token in which
 * they differ.
 */
const claimed = (payload: Claims): Account => {
  const { byClaim, bySubject, details } = namesIn(payload)
  if (byClaim && bySubject && !agree(byClaim, bySubject)) return refuseToken('token names two accounts')
  return { ...(byClaim ?? bySubject ?? refuseToken('token names no service account')), ...details }
}

/** Account in verified claims. The claim `kubernetes.io` must name it, and the subject, if present, must agree. */
export const signedFor = (payload: Claims): Account => {
  const { byClaim, bySubject, details } = namesIn(payload)
  if (!byClaim) return refuseToken('token has no usable claim kubernetes.io')
  if (payload['sub'] !== undefined && (!bySubject || !agree(byClaim, bySubject)))
    return refuseToken('token has another subject than its service account')
  return { ...byClaim, ...details }
}

const namesIn = (payload: Claims) => {
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

/** Parses a user name of the form `system:serviceaccount:<namespace>:<name>`. */
export const accountNamed = (username: unknown): Account | undefined => {
  const [, namespace, name] = (typeof username === 'string' && USERNAME.exec(username)) || []
  return named(namespace, name)
}

const credentialIdOf = (jti: unknown): unknown => (typeof jti === 'string' && jti !== '' ? `JTI=${jti}` : undefined)

type Details = Readonly<Record<'uid' | 'podName' | 'podUid' | 'credentialId', unknown>>
/** Selects the attributes that are non-empty texts within the length limit. */
export const accountDetails = (parts: Details): Partial<Account> =>
  Object.fromEntries(
    Object.entries(parts).filter(
      ([, part]) => typeof part === 'string' && part !== '' && part.length <= MOST_CHARACTERS,
    ),
  )

/** Returns true if no attribute differs. An attribute that is absent on one side does not count. */
export const agree = (a: Account, b: Account): boolean =>
  (['namespace', 'name', 'uid', 'podName', 'podUid'] as const).every(
    (part) => (a[part] ?? b[part]) === (b[part] ?? a[part]),
  )

/** Returns true if the account is in the list. An empty list allows every account. */
export const isAllowed = (allowed: Allowed, { namespace, name }: Account): boolean =>
  allowed.length === 0 ||
  allowed.some(
    (entry) =>
      ['*', namespace].includes(entry.namespace) &&
      entry.serviceAccounts.some((account) => ['*', name].includes(account)),
  )

type Claims = Readonly<Record<string, unknown>>
const member = (object: Claims | undefined, name: string): Claims | undefined => {
  const value = object?.[name]
  return isObject(value) ? value : undefined
}

const named = (namespace: unknown, name: unknown): Account | undefined =>
  typeof namespace === 'string' &&
  typeof name === 'string' &&
  namespace !== '' &&
  name !== '' &&
  isPrintable(namespace + name)
    ? { namespace, name }
    : undefined
