import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { LoginKind } from '../events/login.ts'
import type { Sealer } from '../events/personal.ts'

/**
 * Encrypts values that a browser stores for the service: AES-256-GCM under a key derived from the pepper for one
 * purpose. Every instance of the deployment can open them.
 */
const sealedBy = <T extends { readonly expiresAt: string }>(pepper: Uint8Array, purpose: string) => {
  const key = Buffer.from(hkdfSync('sha256', pepper, '', purpose, 32))
  return {
    seal: (content: T): string => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = [nonce, cipher.update(JSON.stringify(content), 'utf8'), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(body).toString('base64url')
    },
    /** Returns the content, or undefined for a text that this deployment did not encrypt for this purpose. */
    open: (text: string): T | undefined => {
      const body = Buffer.from(text, 'base64url')
      if (body.length < 29) return undefined
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, 12))
      decipher.setAuthTag(body.subarray(-16))
      try {
        const content = JSON.parse(
          Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]).toString(),
        ) as T
        // An earlier version encrypted values without `expiresAt`.
        return 'expiresAt' in content ? content : undefined
      } catch {
        return undefined
      }
    },
  }
}

/**
 * State of a login that the browser stores between authorization request and callback. The login state is encrypted for
 * this service.
 */
export type LoginState = {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly method: LoginKind
  readonly provider?: string
  readonly returnTo: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly startedAt: string
  readonly expiresAt: string
}

/** Person refused after identification, as the provider described them, for the page that explains the refusal. */
export type RefusedLogin = {
  readonly requestId: string
  /** Cause from the table; absent in states that an earlier version encrypted. */
  readonly cause?: string
  readonly name?: string
  readonly email?: string
  readonly login?: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly expiresAt: string
}

/** State of a sign-out at a provider, which the browser stores until the provider sends it back. */
type LogoutState = {
  readonly state: string
  readonly provider: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly expiresAt: string
}

/** Seals login states. */
export const loginStates = (pepper: Uint8Array) => sealedBy<LoginState>(pepper, 'rollcall login state')
/** Seals refused logins. */
export const refusedLogins = (pepper: Uint8Array) => sealedBy<RefusedLogin>(pepper, 'rollcall refused login')
/** Seals the states of sign-outs. */
export const logoutStates = (pepper: Uint8Array) => sealedBy<LogoutState>(pepper, 'rollcall logout state')

export type LoginStates = ReturnType<typeof loginStates>
export type RefusedLogins = ReturnType<typeof refusedLogins>
export type LogoutStates = ReturnType<typeof logoutStates>

type Head = { readonly key: string; readonly expiresAt: string }
type Body = { readonly idToken: string; readonly expiresAt: string }
/** `expiresAt` is the expiry of the session (RFC 3339 UTC with milliseconds). */
type SessionIdToken = Body & { readonly subject: string }

const bodies = (key: Uint8Array) => sealedBy<Body>(key, 'rollcall ID token')

/**
 * Encrypts the ID token of one session with a key of its own. This key is encrypted for the person, and then for the
 * session: with the client token and the pepper. So the ID token is lost with the client token, and by an erasure of
 * the person.
 */
export const keptIdTokens = (pepper: Uint8Array) => (clientToken: string, sealer: Sealer) => {
  const heads = sealedBy<Head>(pepper, `rollcall ID token of ${clientToken}`)
  return {
    seal: async ({ subject, ...body }: SessionIdToken): Promise<string> => {
      const key = randomBytes(32)
      const sealed = await sealer.seal(subject, key.toString('base64url'))
      return `${heads.seal({ key: sealed, expiresAt: body.expiresAt })}.${bodies(key).seal(body)}`
    },
    /** Returns the ID token; undefined if the text is from another session, or if the person was erased. */
    open: async (text: string): Promise<string | undefined> => {
      const [head = '', body = ''] = text.split('.')
      const { key } = heads.open(head) ?? {}
      const opened = key === undefined ? undefined : await sealer.open(key)
      if (!opened || !('text' in opened)) return undefined
      return bodies(Buffer.from(opened.text, 'base64url')).open(body)?.idToken
    },
  }
}

export type KeptIdTokens = ReturnType<typeof keptIdTokens>
