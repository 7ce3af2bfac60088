import { useNavigate, useSearch } from '@tanstack/react-router'

/** The moment that the address names: an instant or a position, undefined for the present. */
export const useAt = (): string | undefined => useSearch({ strict: false }).at

/** Whether a moment is a position in the log, and no instant. */
export const isPosition = (at: string): boolean => /^\d+$/.test(at)

/** Milliseconds since 1970 of a moment; undefined for a position. */
export const instantOf = (at: string | undefined): number | undefined => {
  const ms = at === undefined || isPosition(at) ? Number.NaN : Date.parse(at)
  return Number.isNaN(ms) ? undefined : ms
}

/** Goes to a moment, or back to the present, on the page that is open. */
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
