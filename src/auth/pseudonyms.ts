import { createHmac } from 'node:crypto'

/**
 * Pseudonyms of people: keyed digests. Without the pepper nobody can verify a guess of a person. `erased` are the
 * subjects whose erasure was requested.
 */
export const pseudonyms = (pepper: Uint8Array, erased: ReadonlySet<string> = new Set()) => {
  const name = (kind: string, ...parts: readonly string[]) =>
    `${kind}-${createHmac('sha256', pepper).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}`
  return {
    /**
     * Pseudonym of a person at an issuer. Personal data is encrypted with the key of this subject. After the nth erasure
     * it has the suffix `.<n+1>`.
     */
    subject: (method: string, issuer: string, sub: string): string => {
      const person = name('person', method, issuer, sub)
      let subject = person
      for (let n = 2; erased.has(subject); n++) subject = `${person}.${n}`
      return subject
    },
    /**
     * Pseudonym by which a person's tokens are found. Excludes the issuer, so it works after a provider was removed.
     */
    identity: (method: string, sub: string): string => name('sub', 'identity', method, sub),
    /** Pseudonym of a session at a provider, from the claim `sid` of its tokens. */
    session: (issuer: string, sid: string): string => name('sid', 'session', issuer, sid),
    /** Pseudonym of a logout token, from its `jti`. */
    logoutToken: (issuer: string, jti: string): string => name('jti', 'logout', issuer, jti),
    /** Pseudonym of a claim value that identifies a person. */
    claim: (claim: string, value: string): string => name('claim', claim, value),
    /** Digest of the text of a filter of the history, which may name a person. */
    filter: (filter: string, text: string): string => name('filter', filter, text),
  }
}

export type Pseudonyms = ReturnType<typeof pseudonyms>
