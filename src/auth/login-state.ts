import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { LoginKind } from '../events/login.ts'

/** What a browser carries from authorize to callback; only this service can read it. */
export type LoginState = {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly method: LoginKind
  readonly provider?: string
  readonly returnTo: string
  /** RFC 3339 UTC with milliseconds. */
  readonly startedAt: string
  readonly expiresAt: string
}

/** Seals login states with AES-256-GCM under a key derived from the pepper, so any instance can finish what another began. */
export const loginStates = (pepper: Uint8Array) => {
  const key = Buffer.from(hkdfSync('sha256', pepper, '', 'rollcall login state', 32))
  return {
    seal: (state: LoginState): string => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = [nonce, cipher.update(JSON.stringify(state), 'utf8'), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(body).toString('base64url')
    },
    /** The state, or undefined for anything that this deployment did not seal. */
    open: (text: string): LoginState | undefined => {
      const body = Buffer.from(text, 'base64url')
      if (body.length < 29) return undefined
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, 12))
      decipher.setAuthTag(body.subarray(-16))
      try {
        const state = JSON.parse(
          Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]).toString(),
        ) as LoginState
        // An earlier version sealed states without their times.
        return 'expiresAt' in state ? state : undefined
      } catch {
        return undefined
      }
    },
  }
}

export type LoginStates = ReturnType<typeof loginStates>
