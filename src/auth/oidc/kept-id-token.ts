import { randomBytes } from 'node:crypto'
import type { Sealer } from '../../events/personal.ts'
import { sealedBy } from '../sealed.ts'

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
