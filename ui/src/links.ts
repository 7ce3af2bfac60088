/** Key in the address of the form for a new flag or segment. A flag or segment may have this key too. */
const FORM = 'new'

/** Whether the address is that of the form. The flag or segment with the same key always has a tab in its address. */
export const isForm = (key: string, tab: unknown): boolean => key === FORM && tab === undefined

/** Whether the address must name the first tab, because without one it is that of the form. */
export const namesFirstTab = (key: string): boolean => key === FORM

const thing = (ns: string, key: string) => ({
  params: { ns, key },
  search: namesFirstTab(key) ? ({ tab: 'targeting' } as const) : {},
})

/** Link to a flag. */
export const toFlag = (ns: string, key: string) => ({ to: '/ns/$ns/flags/$key', ...thing(ns, key) }) as const

/** Link to a segment. */
export const toSegment = (ns: string, key: string) => ({ to: '/ns/$ns/segments/$key', ...thing(ns, key) }) as const

/** Flag or segment of a namespace. */
export type Thing = { readonly kind: 'flag' | 'segment'; readonly namespace: string; readonly key: string }

/** Flag or segment of a stream name, such as `flag-default+checkout`; undefined for other streams. */
export const thingOf = (stream: string): Thing | undefined => {
  const [, kind, namespace, key] = /^(flag|segment)-([^+]+)\+(.+)$/.exec(stream) ?? []
  return namespace === undefined || key === undefined ? undefined : { kind: kind as Thing['kind'], namespace, key }
}

/** Stream name of a flag or segment. */
export const streamOf = ({ kind, namespace, key }: Thing): string => `${kind}-${namespace}+${key}`

/** Link to a flag or segment. */
export const toThing = ({ kind, namespace, key }: Thing) =>
  kind === 'flag' ? toFlag(namespace, key) : toSegment(namespace, key)

/** Link to a flag or segment at the present, with its state at a moment as a draft. */
export const toRestored = (of: Thing, moment: string) => {
  const { search, ...rest } = toThing(of)
  const restored = { ...search, restore: moment }
  // An explicit undefined drops the moment, which links keep otherwise.
  return { ...rest, search: Object.assign({ at: undefined }, restored) as typeof restored }
}

/** Link to the form for a new flag. */
export const toNewFlag = (ns: string) => ({ to: '/ns/$ns/flags/$key', params: { ns, key: FORM } }) as const

/** Link to the form for a new segment. */
export const toNewSegment = (ns: string) => ({ to: '/ns/$ns/segments/$key', params: { ns, key: FORM } }) as const

/** Identifies the page of an address regardless of its tab: the path, with a `?` appended for the form. */
export const pageOf = ({ pathname, search }: { readonly pathname: string; readonly search: object }): string =>
  isForm(pathname.slice(pathname.lastIndexOf('/') + 1), 'tab' in search ? search.tab : undefined)
    ? `${pathname}?`
    : pathname
