import { useNavigate, useSearch } from '@tanstack/react-router'

/** Moment in the address: an instant or a position; undefined for the present. */
export const useAt = (): string | undefined => useSearch({ strict: false }).at

/** Whether a moment is a position in the log rather than an instant. */
export const isPosition = (at: string): boolean => /^\d+$/.test(at)

/** Whether a text is an instant. `Date.parse` alone turns February 30 into March 2. */
export const isInstant = (text: string): boolean =>
  !Number.isNaN(Date.parse(text)) && new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))

/** Converts a moment to ms since 1970; undefined for a position. */
export const instantOf = (at: string | undefined): number | undefined =>
  at !== undefined && !isPosition(at) && isInstant(at) ? Date.parse(at) : undefined

/** Returns a function that opens the current page at a moment, or at the present. */
export const useGoTo = (): ((at: string | undefined) => void) => {
  const navigate = useNavigate()
  return (at) =>
    void navigate({
      to: '.',
      search: (before: Readonly<Record<string, string | undefined>>) => {
        const { page: _page, ...rest } = before
        return { ...rest, at } as never
      },
      resetScroll: false,
    })
}
