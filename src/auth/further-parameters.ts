import type { ServerMetadata } from 'openid-client'

/** What lets a provider ask who it is, whoever is signed in there. */
export type Asking = 'login' | 'select_account'

const ASK: ReadonlySet<string> = new Set<Asking>(['login', 'select_account'])
/** It refuses `login`, and its document does not say so. */
const KNOWS_NO_LOGIN = 'https://accounts.google.com'

/** How an OpenID Connect provider is asked to ask: by `login`, or by `select_account` where it knows no other way. */
export const askingOf = ({ issuer, prompt_values_supported: listed }: ServerMetadata): Asking => {
  const isWithout = Array.isArray(listed) && !listed.includes('login') && listed.includes('select_account')
  return isWithout || issuer === KNOWS_NO_LOGIN ? 'select_account' : 'login'
}

/**
 * The configured parameters of an authorize address (api.md §5.5). Where the provider is to ask `anew`, a configured `prompt` stays that asks too, and any
 * other one gives way.
 */
export const furtherParameters = (
  parameters: Readonly<Record<string, string>>,
  anew: boolean,
  asking: Asking,
): Readonly<Record<string, string>> => {
  const asks = (parameters['prompt'] ?? '').split(' ').some((word) => ASK.has(word))
  return anew && !asks ? { ...parameters, prompt: asking } : parameters
}
