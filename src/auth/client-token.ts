import { createHmac, createSecretKey, hash, hkdfSync, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { CLIENT_TOKEN } from '../base/token-form.ts'
import type { Method } from '../events/token.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Prefixes by kind, which identify a token to people and secret scanners. */
const prefixes: Readonly<Record<Method | 'bootstrap' | 'publishable', string>> = {
  token: 'rct_',
  publishable: 'rcp_',
  oidc: 'rcs_',
  codehost: 'rcs_',
  orchestrator: 'rck_',
  bootstrap: 'rcb_',
}
export type TokenKind = keyof typeof prefixes

const BODY = 43
const CHECK = 6
const OWN_FORM = new RegExp(`^${CLIENT_TOKEN.source}$`)

const FORM = /^[A-Za-z0-9._~+/=-]{1,255}$/
/** Form of any client token, including an operator's bootstrap token (api.md §3.1), for messages. */
export const TOKEN_FORM = '1 to 255 of the characters A-Z a-z 0-9 . _ ~ + / = -'
/** Returns true if a text has the form of a client token. */
export const hasTokenForm = (text: string): boolean => FORM.test(text)

const base62 = (value: bigint, length: number): string => {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}
const check = (text: string): string => base62(BigInt(crc32(text)), CHECK)

/**
 * Creates a client token of 256 bits, random unless given: prefix, 43 base62 characters, and 6 of a CRC-32. The
 * checksum detects mistyped tokens without a lookup.
 */
export const mint = (kind: TokenKind, bits = randomBytes(32)): string => {
  const text = prefixes[kind] + base62(BigInt(`0x${bits.toString('hex')}`), BODY)
  return text + check(text)
}

/**
 * Returns false if the text cannot be a token: wrong characters or length, or the service's form with a wrong checksum.
 */
export const plausible = (token: string): boolean => {
  if (!hasTokenForm(token)) return false
  return !OWN_FORM.test(token) || token.endsWith(check(token.slice(0, -CHECK)))
}

/** Key for the digests of secrets. Every digest starts with `kid`. */
type Pepper = { readonly kid: string; readonly key: Uint8Array }

/**
 * Digest of a secret: `<kid>.<HMAC-SHA-256 under the pepper, base64url>`. Nobody without the pepper can verify a guess
 * or forge a token.
 */
export const digester = ({ kid, key }: Pepper): ((secret: string) => string) => {
  const pepper = createSecretKey(key)
  return (secret) => `${kid}.${createHmac('sha256', pepper).update(secret).digest('base64url')}`
}

/**
 * Fingerprint of a secret from its SHA-256: `<kid>.2.<HMAC-SHA-256 of the 32 bytes under the pepper, base64url>`. The
 * fingerprint is used to find a token by its SHA-256, without the secret.
 */
export const fingerprinter = ({ kid, key }: Pepper) => {
  const [prefix, pepper] = [`${kid}.2.`, createSecretKey(key)]
  return {
    /** Beginning of the fingerprints under this pepper. */
    prefix,
    of: (sha256: Uint8Array): string => prefix + createHmac('sha256', pepper).update(sha256).digest('base64url'),
  }
}
export type Fingerprints = ReturnType<typeof fingerprinter>

/** Secrets of tokens under the pepper: their digests, and those that are derived from the pepper. */
export const tokenSecrets = (pepper: Pepper) => {
  const [digest, fingerprint] = [digester(pepper), fingerprinter(pepper)]
  return {
    /** Digest and fingerprint of a secret, as the event of its issue records them. */
    digests: (secret: string) => ({
      digest: digest(secret),
      fingerprint: fingerprint.of(hash('sha256', secret, 'buffer')),
    }),
    /**
     * Secret of the token that a command issues: HKDF-SHA-256 of the pepper for this command. Each attempt on each
     * instance derives the same secret. Without the pepper the command id reveals nothing about the secret.
     */
    ofCommand: (kind: TokenKind, commandId: string): string =>
      mint(kind, Buffer.from(hkdfSync('sha256', pepper.key, '', `rollcall client token ${kind} ${commandId}`, 32))),
  }
}
export type TokenSecrets = ReturnType<typeof tokenSecrets>
