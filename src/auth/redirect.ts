/** Redirect URI of a callback, exactly as it is sent. Built from configuration only, never from a request. */
export const redirectUriOf = ({
  redirectAddress,
  callbackPath,
}: {
  readonly redirectAddress: string
  readonly callbackPath: string
}) => new URL(`${redirectAddress.replace(/\/+$/, '')}${callbackPath}`).href

/** Rebuilds the callback URL from the configured redirect URI and the given parameters. */
export const answered = (redirectUri: string, parameters: Readonly<Record<string, string>>): URL => {
  const url = new URL(redirectUri)
  url.search = new URLSearchParams(parameters).toString()
  return url
}
