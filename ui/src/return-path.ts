const plain = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const dots = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/** Base path of this page, without a trailing slash: `''` or `/tools/rollcall`. */
export const basePath = (): string => new URL(document.baseURI).pathname.replace(/\/$/, '')

/**
 * Returns the page to open after a sign-in: the given path if it is of this origin and below the base path, else the
 * base path (ui.md §2.2.4).
 */
export const returnPath = (given: string | undefined): string => {
  const base = basePath()
  if (given === undefined || given.length > 2048 || !plain.test(given)) return `${base}/`
  const [path = ''] = given.split(/[?#]/, 1)
  if (dots.test(path)) return `${base}/`
  const here = base === '' || given.startsWith(`${base}/`) ? given : base + given
  return new URL(here, window.location.origin).origin === window.location.origin ? here : `${base}/`
}

/** Address of the sign-in page, with the page to return to (default: the current page). */
export const loginAddress = (returnTo = window.location.pathname + window.location.search): string => {
  const base = basePath()
  return returnTo === `${base}/`
    ? `${base}/login`
    : `${base}/login?${new URLSearchParams({ return_to: returnTo }).toString()}`
}

/** Returns the provider's address if it is allowed: `https:`, or `http:` on a loopback host; else undefined. */
export const providerAddress = (address: string): string | undefined => {
  if (!URL.canParse(address)) return undefined
  const { protocol, hostname, href } = new URL(address)
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && loopback) ? href : undefined
}
