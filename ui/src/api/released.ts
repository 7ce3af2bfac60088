const scripts = /ui\/assets\/[\w.-]+\.js/g
const SPACED_MS = 60_000
const own = document.querySelector<HTMLScriptElement>('script[type="module"][src]')?.getAttribute('src') ?? ''
let asked = Date.now()

/** Whether the service has another page by now than the one that is open; asked at most once a minute. */
export const isReplaced = async (): Promise<boolean> => {
  if (Date.now() - asked < SPACED_MS) return false
  asked = Date.now()
  try {
    const answer = await fetch(document.baseURI, { headers: { accept: 'text/html' }, redirect: 'error' })
    const found = answer.ok ? (await answer.text()).match(scripts) : null
    return found !== null && !found.some((name) => own.endsWith(name))
  } catch {
    // Whether the service answers is told elsewhere.
    return false
  }
}
