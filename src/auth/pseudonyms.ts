import { createHmac } from 'node:crypto'

/** Pseudonyms of people: keyed digests. Without the pepper nobody can verify a guess of a person. */
export const pseudonyms = (pepper: Uint8Array) => {
  const name = (kind: string, ...parts: readonly string[]) =>
    `${kind}-${createHmac('sha256', pepper).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}`
  return {
    /** Pseudonym of a person at an issuer. Personal data is encrypted with the key of this subject. */
    subject: (method: string, issuer: string, sub: string): string => name('person', method, issuer, sub),
    /**
     * Pseudonym by which a person's tokens are found. Excludes the issuer, so it works after a provider was removed.
     */
    identity: (method: string, sub: string): string => name('sub', 'identity', method, sub),
    /** Pseudonym of a claim value that identifies a person. */
    claim: (claim: string, value: string): string => name('claim', claim, value),
  }
}

export type Pseudonyms = ReturnType<typeof pseudonyms>
