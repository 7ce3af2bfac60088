import { useNavigate, useSearch } from '@tanstack/react-router'

/** Moment in the address: an instant or a position; undefined for the present. */
export const useAt = (): string | undefined => useSearch({ strict: false }).at

/** Whether a moment is a position in the log rather than an instant. */
export const isPosition = (at: string): boolean => /^\d+$/.test(at)

/** Converts a moment to ms since 1970; undefined for a position. */
export const instantOf = (at: string | undefined): number | undefined => {
  const ms = at === undefined || isPosition(at) ? Number.NaN : Date.parse(at)
  return Number.isNaN(ms) ? undefined : ms
}

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
