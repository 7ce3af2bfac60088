import { createHmac } from 'node:crypto'

/** Names of people that say nothing about who they are; without the pepper nobody can test a guess. */
export const pseudonyms = (pepper: Uint8Array) => {
  const name = (kind: string, ...parts: readonly string[]) =>
    `${kind}-${createHmac('sha256', pepper).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}`
  return {
    /** One person at one issuer: the subject whose key seals what is personal. */
    subject: (method: string, issuer: string, sub: string): string => name('person', method, issuer, sub),
    /** What a person's tokens are found by. It leaves the issuer out, so a provider whose configuration is gone is no hindrance. */
    identity: (method: string, sub: string): string => name('sub', 'identity', method, sub),
    /** A value of a claim that tells who somebody is. */
    claim: (claim: string, value: string): string => name('claim', claim, value),
  }
}

export type Pseudonyms = ReturnType<typeof pseudonyms>
