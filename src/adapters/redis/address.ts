/** What keeps an address from ever being right; undefined where only the server can tell. Never repeats any of it. */
export const wrongWith = (url: string): string | undefined => {
  if (!URL.canParse(url)) return 'is none: it reads redis://name:password@host:6379/0'
  const { hostname, pathname } = new URL(url)
  if (hostname === '') return 'names no host'
  return /^\/?\d*$/.test(pathname) ? undefined : 'names a database that is no number'
}
