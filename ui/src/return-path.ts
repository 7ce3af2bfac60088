const plain = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const dots = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/** The path of the base of this page, without its last slash: `''` or `/tools/rollcall`. */
export const basePath = (): string => new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Where a sign-in goes back to, as the browser sees it: a path of this origin and beneath the base path, else its beginning (ui.md §2.2.4). */
export const returnPath = (given: string | undefined): string => {
  const base = basePath()
  if (given === undefined || given.length > 2048 || !plain.test(given)) return `${base}/`
  const [path = ''] = given.split(/[?#]/, 1)
  if (dots.test(path)) return `${base}/`
  const here = base === '' || given.startsWith(`${base}/`) ? given : base + given
  return new URL(here, window.location.origin).origin === window.location.origin ? here : `${base}/`
}

/** The sign-in page, and where it goes back to: this page, where nothing else is said. */
export const loginAddress = (returnTo = window.location.pathname + window.location.search): string => {
  const base = basePath()
  return returnTo === `${base}/`
    ? `${base}/login`
    : `${base}/login?${new URLSearchParams({ return_to: returnTo }).toString()}`
}

/** Whether the browser may be sent there for a login: `https:`, or `http:` on a loopback host. */
export const providerAddress = (address: string): string | undefined => {
  if (!URL.canParse(address)) return undefined
  const { protocol, hostname, href } = new URL(address)
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && loopback) ? href : undefined
}
