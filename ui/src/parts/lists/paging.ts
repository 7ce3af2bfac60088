import { useLocation, useNavigate } from '@tanstack/react-router'
import type { Order } from './table.tsx'

type Search = Readonly<Record<string, string | undefined>>

/** Parses the `sort` parameter. The first of `sorts` is the default; `-name` is descending. */
export const orderOf = (sort: string | undefined, sorts: readonly [string, ...string[]]): Order => {
  const nameOf = (text: string) => text.replace(/^-/, '')
  const asked = sort !== undefined && sorts.some((one) => nameOf(one) === nameOf(sort)) ? sort : sorts[0]
  return { by: nameOf(asked), descending: asked.startsWith('-') }
}

/** Formats an order as a `sort` parameter; the default is empty. */
export const sortOf = ({ by, descending }: Order, first: string): string => {
  const text = `${descending ? '-' : ''}${by}`
  return text === first ? '' : text
}

/** Functions that change the parameters of a list in the address. A changed filter resets to the first page. */
export const useListAddress = (search: Search) => {
  const navigate = useNavigate()
  const before = useLocation().state.before ?? []
  const go = (change: Search, how: { readonly replace: true } | { readonly state: { before: readonly string[] } }) => {
    // The address may be newer than `search`.
    const changed = ({ page: _page, ...now }: Search) =>
      Object.fromEntries(Object.entries({ ...now, ...change }).filter(([, value]) => value))
    void navigate({ to: '.', search: changed as never, resetScroll: false, ...how })
  }
  return {
    filter: (change: Search) => go(change, { replace: true }),
    next: (page: string) =>
      page === '' ? undefined : () => go({ page }, { state: { before: [...before, search['page'] ?? ''] } }),
    previous:
      search['page'] === undefined
        ? undefined
        : () => go({ page: before.at(-1) }, { state: { before: before.slice(0, -1) } }),
  }
}
