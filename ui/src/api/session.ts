import type { Session } from '../../../src/contract/login/login.ts'
import { read, request } from './request.ts'

export type { Session }

/** Reads the session of this browser. */
export const readSession = (signal?: AbortSignal): Promise<Session> => read('auth/v1/self/session', { signal })

/** Signs in with a client token. The token is not stored in the browser. */
export const startSession = (token: string): Promise<{ readonly sessionEndsAt: string }> =>
  read('auth/v1/self/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })

/** Clears the session cookie; the token stays valid. */
export const endSession = async (): Promise<void> => {
  await request('auth/v1/self/session', { method: 'DELETE' })
}

/** Revokes the token of this session. Returns the address that ends the session at its provider, if there is one. */
export const expireSelf = async (): Promise<string | undefined> =>
  (await read<{ readonly logoutUrl?: string }>('auth/v1/self/expire', { method: 'PUT' })).logoutUrl
