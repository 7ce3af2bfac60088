import { storeOf } from './store.ts'
import { hear, tellPreferences } from './tabs.ts'

/** Preferences of this browser; stored in its `localStorage` only. */
export type Preferences = {
  readonly theme: 'system' | 'light' | 'dark'
  readonly zone: 'browser' | 'utc'
  readonly exactTimes: boolean
  readonly density: 'normal' | 'compact'
  readonly singleKeys: boolean
}

const KEY = 'rollcall.preferences'
const NAMESPACE = 'rollcall.namespace'
const ENDS = 'rollcall.session-ends'
const LEFT = 'rollcall.session-left'
const OUT = 'rollcall.signed-out'
const LEDGER = 'rollcall.ledger'
const standard: Preferences = {
  theme: 'system',
  zone: 'browser',
  exactTimes: false,
  density: 'normal',
  singleKeys: true,
}
let serviceTheme: Preferences['theme'] = 'system'
let chosen: Partial<Preferences> = {}
const present = storeOf(standard)

/** Reads from `localStorage`. If the browser refuses storage, a choice lasts as long as the page. */
const stored = (name: string): string | undefined => {
  try {
    return localStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}
const store = (name: string, value: string | undefined): void => {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    // The browser refuses storage.
  }
}

const oneOf = <T>(values: readonly T[], value: unknown): T | undefined => values.find((known) => known === value)
const bool = (value: unknown): boolean | undefined => oneOf([true, false], value)

const parsed = (): Partial<Preferences> => {
  let raw: Record<string, unknown>
  try {
    raw = JSON.parse(stored(KEY) ?? '{}') as Record<string, unknown>
  } catch {
    return {}
  }
  const known = {
    theme: oneOf(['system', 'light', 'dark'] as const, raw['theme']),
    zone: oneOf(['browser', 'utc'] as const, raw['zone']),
    exactTimes: bool(raw['exactTimes']),
    density: oneOf(['normal', 'compact'] as const, raw['density']),
    singleKeys: bool(raw['singleKeys']),
  }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
}

const apply = (): void => {
  const preferences = { ...standard, theme: serviceTheme, ...chosen }
  const { dataset } = document.documentElement
  if (preferences.theme === 'system') delete dataset['theme']
  else dataset['theme'] = preferences.theme
  dataset['density'] = preferences.density
  present.set(preferences)
}

/** Reads the stored preferences, now and whenever another tab changes them. */
export const beginPreferences = (): void => {
  const read = () => {
    chosen = parsed()
    apply()
  }
  read()
  hear(({ kind }) => {
    if (kind === 'preferences') read()
  })
}

/** Sets the theme of the service, which applies if the user has not chosen one. */
export const setServiceTheme = (theme: string): void => {
  serviceTheme = oneOf(['system', 'light', 'dark'] as const, theme) ?? 'system'
  apply()
}

export const choose = (change: Partial<Preferences>): void => {
  chosen = { ...chosen, ...change }
  store(KEY, JSON.stringify(chosen))
  apply()
  tellPreferences()
}

export const usePreferences = present.use

/** Namespace that was last open in this browser; undefined if there is none. */
export const knownNamespace = (): string | undefined => stored(NAMESPACE)
/** Namespace that was last open in this browser, else `default`, which every service has. */
export const lastNamespace = (): string => knownNamespace() ?? 'default'
export const rememberNamespace = (key: string): void => store(NAMESPACE, key)
/** Forgets a deleted namespace, so that the next visit does not open it. */
export const forgetNamespace = (key: string): void => {
  if (lastNamespace() === key) store(NAMESPACE, undefined)
}

/** Expiry of the session cookie (RFC 3339), if known. */
export const sessionEnds = (): string | undefined => stored(ENDS)
export const rememberSessionEnd = (instant: string | undefined): void => store(ENDS, instant)

/** Kind of a sign-out: of a token, of a login in this service only, or of a login at its provider too. */
type SignOut = 'token' | 'here' | 'provider'
/** Set if the last action in this browser was a sign-out: then the next login asks for credentials. */
export const signedOut = (): string | undefined => stored(OUT)
export const rememberSignedOut = (kind: SignOut | undefined): void => store(OUT, kind)

/** Expiry of a session that the sign-out could not revoke. */
export const sessionLeft = (): string | undefined => stored(LEFT)
export const rememberSessionLeft = (instant: string | undefined): void => store(LEFT, instant)

/** Record of this browser about the ledger of the service at a base path (JSON), without secrets. */
export const knownLedger = (base: string): string | undefined => stored(LEDGER + base)
export const rememberLedger = (base: string, text: string): void => store(LEDGER + base, text)
