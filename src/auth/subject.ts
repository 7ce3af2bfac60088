import { createHmac } from 'node:crypto'

/** The stable pseudonym of a person: says nothing about who it is, and without the pepper nobody can test a guess. */
export const subjectNamer =
  (pepper: Uint8Array) =>
  (method: string, issuer: string, sub: string): string =>
    `person-${createHmac('sha256', pepper)
      .update(JSON.stringify([method, issuer, sub]))
      .digest('base64url')
      .slice(0, 22)}`
