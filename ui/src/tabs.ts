/** Messages between the tabs of one browser; they contain no secrets. */
type Told =
  | { readonly kind: 'session' }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'preferences' }
  | { readonly kind: 'written'; readonly keys: readonly (readonly string[])[] }

const channel = new BroadcastChannel('rollcall')

/** Notifies the other tabs of a sign-in or sign-out. */
export const tellSession = (kind: 'session' | 'signed-out'): void => channel.postMessage({ kind })
/** Notifies the other tabs of invalidated queries. */
export const tellWritten = (keys: readonly (readonly string[])[]): void =>
  channel.postMessage({ kind: 'written', keys })
/** Notifies the other tabs of changed preferences. */
export const tellPreferences = (): void => channel.postMessage({ kind: 'preferences' })

/** Subscribes to messages from other tabs; returns the unsubscribe function. */
export const hear = (heard: (message: Told) => void): (() => void) => {
  const listener = ({ data }: MessageEvent<Told>) => heard(data)
  channel.addEventListener('message', listener)
  return () => channel.removeEventListener('message', listener)
}
