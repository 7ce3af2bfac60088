const plain = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/
const dots = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/** Where a sign-in goes back to: a path of this origin, else `/` (ui.md §2.2.4). */
export const returnPath = (given: string | undefined): string => {
  if (given === undefined || given.length > 2048 || !plain.test(given)) return '/'
  const [path = ''] = given.split(/[?#]/, 1)
  if (dots.test(path)) return '/'
  return new URL(given, window.location.origin).origin === window.location.origin ? given : '/'
}

/** The path of the base of this page, without its last slash: `''` or `/tools/rollcall`. */
export const basePath = (): string => new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Whether the browser may be sent there for a login: `https:`, or `http:` on a loopback host. */
export const providerAddress = (address: string): string | undefined => {
  if (!URL.canParse(address)) return undefined
  const { protocol, hostname, href } = new URL(address)
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && loopback) ? href : undefined
}
