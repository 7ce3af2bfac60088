/** What tabs of one browser tell each other; nothing secret. */
type Told =
  | { readonly kind: 'session' }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'preferences' }
  | { readonly kind: 'written'; readonly keys: readonly (readonly string[])[] }

const channel = new BroadcastChannel('rollcall')

/** Tells the other tabs that somebody signed in, or out, here. */
export const tellSession = (kind: 'session' | 'signed-out'): void => channel.postMessage({ kind })
/** Tells the other tabs which reads are stale. */
export const tellWritten = (keys: readonly (readonly string[])[]): void =>
  channel.postMessage({ kind: 'written', keys })
/** Tells the other tabs to look at the preferences again. */
export const tellPreferences = (): void => channel.postMessage({ kind: 'preferences' })

/** Hears what other tabs tell; gives what ends it. */
export const hear = (heard: (told: Told) => void): (() => void) => {
  const listener = ({ data }: MessageEvent<Told>) => heard(data)
  channel.addEventListener('message', listener)
  return () => channel.removeEventListener('message', listener)
}
