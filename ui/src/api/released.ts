const scripts = /ui\/assets\/[\w.-]+\.js/g
const SPACED_MS = 60_000
const own = document.querySelector<HTMLScriptElement>('script[type="module"][src]')?.getAttribute('src') ?? ''
let asked = Date.now()

/** Whether the service serves a newer build than the open page. Checks at most once a minute. */
export const isReplaced = async (): Promise<boolean> => {
  if (Date.now() - asked < SPACED_MS) return false
  asked = Date.now()
  try {
    const answer = await fetch(document.baseURI, { headers: { accept: 'text/html' }, redirect: 'error' })
    const found = answer.ok ? (await answer.text()).match(scripts) : null
    return found !== null && !found.some((name) => own.endsWith(name))
  } catch {
    // `Banners` reports a service that does not answer.
    return false
  }
}
