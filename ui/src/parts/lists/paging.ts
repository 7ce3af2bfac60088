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
  const go = (next: Search, pages: readonly string[]) =>
    void navigate({ to: '.', search: () => next as never, state: { before: pages }, resetScroll: false })
  return {
    filter: (change: Search) => {
      const { page: _page, ...rest } = search
      void navigate({
        to: '.',
        search: () => Object.fromEntries(Object.entries({ ...rest, ...change }).filter(([, value]) => value)) as never,
        replace: true,
        resetScroll: false,
      })
    },
    next: (token: string) =>
      token === '' ? undefined : () => go({ ...search, page: token }, [...before, search['page'] ?? '']),
    previous:
      search['page'] === undefined
        ? undefined
        : () => {
            const { page: _page, ...rest } = search
            const last = before.at(-1)
            go(last ? { ...rest, page: last } : rest, before.slice(0, -1))
          },
  }
}
