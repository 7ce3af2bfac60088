import type { Session } from '../../../src/contract/login/login.ts'
import { request } from './request.ts'

export type { Session }

/** Reads the session of this browser. */
export const readSession = async (signal?: AbortSignal): Promise<Session> =>
  (await request<Session>('auth/v1/self/session', { signal })).value

/** Signs in with a client token. The token is not stored in the browser. */
export const startSession = async (token: string): Promise<{ readonly sessionEndsAt: string }> =>
  (
    await request<{ readonly sessionEndsAt: string }>('auth/v1/self/session', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
  ).value

/** Clears the session cookie; the token stays valid. */
export const endSession = async (): Promise<void> => {
  await request('auth/v1/self/session', { method: 'DELETE' })
}

/** Revokes the token of this session. Returns the address that ends the session at its provider, if there is one. */
export const expireSelf = async (): Promise<string | undefined> =>
  (await request<{ readonly logoutUrl?: string }>('auth/v1/self/expire', { method: 'PUT' })).value.logoutUrl
