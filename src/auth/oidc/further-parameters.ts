import type { ServerMetadata } from 'openid-client'

/** Values of `prompt` that make the provider ask for the account even if a session exists there. */
export type Asking = 'login' | 'select_account'

const ASK: ReadonlySet<string> = new Set<Asking>(['login', 'select_account'])
/** This issuer refuses `login`, but its discovery document does not show that. */
const KNOWS_NO_LOGIN = 'https://accounts.google.com'

/** `prompt` value for an OpenID Connect provider: `login`, or `select_account` if `login` is not supported. */
export const askingOf = ({ issuer, prompt_values_supported: listed }: ServerMetadata): Asking => {
  const isWithout = Array.isArray(listed) && !listed.includes('login') && listed.includes('select_account')
  return isWithout || issuer === KNOWS_NO_LOGIN ? 'select_account' : 'login'
}

/**
 * Returns the configured parameters of the authorization request (api.md §5.5). With `forceLogin`, a configured `prompt` is
 * replaced by `asking`, unless it makes the provider ask for the account itself.
 */
export const furtherParameters = (
  parameters: Readonly<Record<string, string>>,
  forceLogin: boolean,
  asking: Asking,
): Readonly<Record<string, string>> => {
  const makesProviderAsk = (parameters['prompt'] ?? '').split(' ').some((word) => ASK.has(word))
  return forceLogin && !makesProviderAsk ? { ...parameters, prompt: asking } : parameters
}
