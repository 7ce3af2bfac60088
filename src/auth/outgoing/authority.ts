import tls, { type SecureContext } from 'node:tls'
import { bytesOf, whyUnread } from '../../base/regular-file.ts'
import { ownError } from '../safe-cause.ts'

/**
 * `Accept` header for a JSON Web Key Set: its own type (RFC 7517 §8.5), or plain JSON. A Kubernetes API server answers
 * 406 to a request that accepts plain JSON only.
 */
export const KEY_SET = 'application/jwk-set+json, application/json;q=0.9'

/** Supported signature algorithms. The algorithm `none` and the symmetric ones (HS…) are never accepted. */
export const SIGNATURES: readonly string[] = ['RS', 'PS', 'ES']
  .flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`))
  .concat('EdDSA', 'Ed25519')

/** Reads a file, trimmed. Errors contain the description and the path of the file. */
export const ownFile = async (what: string, path: string): Promise<string> => {
  let content: string
  try {
    content = (await bytesOf(path)).toString().trim()
  } catch (error) {
    throw ownError('authority', `${what} ${path} cannot be read (${whyUnread(error)})`)
  }
  if (content === '') throw ownError('authority', `${what} ${path} is empty`)
  return content
}

/**
 * Certificate authorities that the process trusts without a setting, with those of `NODE_EXTRA_CA_CERTS`. Node.js
 * warns of a file of this variable that it cannot read, and continues without it.
 */
const systemList = async (): Promise<readonly string[]> => {
  if ('getCACertificates' in tls) return (tls.getCACertificates as () => readonly string[])()
  const extra = process.env['NODE_EXTRA_CA_CERTS']
  if (!extra) return tls.rootCertificates
  try {
    const content = (await bytesOf(extra)).toString()
    tls.createSecureContext({ ca: content })
    return [...tls.rootCertificates, content]
  } catch {
    return tls.rootCertificates
  }
}

/** Returns the TLS context for a URL; undefined: the system's authorities. */
export type Trust = (url: URL) => Promise<SecureContext | undefined>

/**
 * Trusts the authority in a file in addition to the system's. For the origin `alone` this authority is the only trusted
 * one. The file is read for each call, so a replaced file takes effect immediately.
 */
export const trustIn = (path: string | undefined, alone?: string): Trust => {
  let content: string | undefined
  let contexts = new Map<boolean, SecureContext>()
  return async ({ origin }) => {
    if (path === undefined) return undefined
    const own = await ownFile('the certificate authority', path)
    if (own !== content) [content, contexts] = [own, new Map()]
    const isAlone = origin === alone
    const ca = async () => (isAlone ? own : [...(await systemList()), own])
    const context = contexts.get(isAlone) ?? tls.createSecureContext({ ca: await ca() })
    contexts.set(isAlone, context)
    return context
  }
}
