/** The key under whose address the form for a new thing stands, too. */
const FORM = 'new'

/** Whether the address of a thing is that of the form for a new one. The thing of the form's key is asked for by a tab. */
export const isForm = (key: string, tab: unknown): boolean => key === FORM && tab === undefined

/** Whether the address of a thing names its first tab as well: the address without one is the form's. */
export const namesFirstTab = (key: string): boolean => key === FORM

const thing = (ns: string, key: string) => ({
  params: { ns, key },
  search: namesFirstTab(key) ? ({ tab: 'targeting' } as const) : {},
})

/** The way to a flag. */
export const toFlag = (ns: string, key: string) => ({ to: '/ns/$ns/flags/$key', ...thing(ns, key) }) as const

/** The way to a segment. */
export const toSegment = (ns: string, key: string) => ({ to: '/ns/$ns/segments/$key', ...thing(ns, key) }) as const

/** The way to the form for a new flag. */
export const toNewFlag = (ns: string) => ({ to: '/ns/$ns/flags/$key', params: { ns, key: FORM } }) as const

/** The way to the form for a new segment. */
export const toNewSegment = (ns: string) => ({ to: '/ns/$ns/segments/$key', params: { ns, key: FORM } }) as const

/** Which page an address opens, whatever part of it is shown: its path, and beside the thing of the form's key the form. */
export const pageOf = ({ pathname, search }: { readonly pathname: string; readonly search: object }): string =>
  isForm(pathname.slice(pathname.lastIndexOf('/') + 1), 'tab' in search ? search.tab : undefined)
    ? `${pathname}?`
    : pathname
