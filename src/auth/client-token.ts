import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Method } from '../events/token.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Three letters tell people and scanners what they found: static, publishable, session, orchestrator and bootstrap tokens. */
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
const OWN_FORM = new RegExp(`^(?:${Object.values(prefixes).join('|')})[0-9A-Za-z]{${BODY + CHECK}}$`)

const FORM = /^[A-Za-z0-9._~+/=-]{1,255}$/
/** The form of any client token, an operator's own bootstrap value included (api.md §3.1), in words. */
export const TOKEN_FORM = '1 to 255 of the characters A-Z a-z 0-9 . _ ~ + / = -'
/** Whether a text has the form of a client token. */
export const hasTokenForm = (text: string): boolean => FORM.test(text)

const base62 = (value: bigint, length: number): string => {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}
const check = (text: string): string => base62(BigInt(crc32(text)), CHECK)

/** A new client token of 256 random bits: prefix, 43 base62 characters, and 6 of a CRC-32 that tells mistyped tokens apart without a lookup. */
export const mint = (kind: TokenKind): string => {
  const text = prefixes[kind] + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), BODY)
  return text + check(text)
}

/** False for text that no token of this service can be: wrong characters or length, or our own form with a wrong checksum. */
export const plausible = (token: string): boolean => {
  if (!hasTokenForm(token)) return false
  return !OWN_FORM.test(token) || token.endsWith(check(token.slice(0, -CHECK)))
}

/** The pepper under which secrets are digested; `kid` names it in every digest. */
export type Pepper = { readonly kid: string; readonly key: Uint8Array }

/** What is stored of a secret: `<kid>.<HMAC-SHA-256 under the pepper, base64url>`. Without the pepper nobody can test a guess or plant a token. */
export const digester =
  ({ kid, key }: Pepper) =>
  (secret: string): string =>
    `${kid}.${createHmac('sha256', key).update(secret).digest('base64url')}`
