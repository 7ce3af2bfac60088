/** The redirect URI of a callback, letter for letter as it is sent: from configuration only, never from a request. */
export const redirectUriOf = ({
  redirectAddress,
  callbackPath,
}: {
  readonly redirectAddress: string
  readonly callbackPath: string
}) => new URL(`${redirectAddress.replace(/\/+$/, '')}${callbackPath}`).href

/** The address that the provider sent the browser to, built again from what we know. */
export const answered = (redirectUri: string, parameters: Readonly<Record<string, string>>): URL => {
  const url = new URL(redirectUri)
  url.search = new URLSearchParams(parameters).toString()
  return url
}
