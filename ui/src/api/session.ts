import type { Session } from '../../../src/contract/session.ts'
import { request } from './request.ts'

export type { Session }

/** Who is signed in here. */
export const readSession = async (signal?: AbortSignal): Promise<Session> =>
  (await request<Session>('auth/v1/self/session', { signal })).value

/** Signs in with a client token, which stands in this request and nowhere else. */
export const startSession = async (token: string): Promise<{ readonly sessionEndsAt: string }> =>
  (
    await request<{ readonly sessionEndsAt: string }>('auth/v1/self/session', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
  ).value

/** Forgets the session of this browser; the token stays valid. */
export const endSession = async (): Promise<void> => {
  await request('auth/v1/self/session', { method: 'DELETE' })
}

/** Ends the token of this session. */
export const expireSelf = async (): Promise<void> => {
  await request('auth/v1/self/expire', { method: 'PUT' })
}
