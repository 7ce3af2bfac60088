import { useLocation, useNavigate } from '@tanstack/react-router'
import type { Order } from './table.tsx'

type Search = Readonly<Record<string, string | undefined>>

/** The order that an address asks for, of those there are; the first is the one without asking, and `-name` goes down. */
export const orderOf = (sort: string | undefined, sorts: readonly [string, ...string[]]): Order => {
  const nameOf = (text: string) => text.replace(/^-/, '')
  const asked = sort !== undefined && sorts.some((one) => nameOf(one) === nameOf(sort)) ? sort : sorts[0]
  return { by: nameOf(asked), descending: asked.startsWith('-') }
}

/** How an order stands in an address; the one without asking is left out. */
export const sortOf = ({ by, descending }: Order, first: string): string => {
  const text = `${descending ? '-' : ''}${by}`
  return text === first ? '' : text
}

/** What stands in the address of a list, and the ways to change it: a filter that changes begins at the first page. */
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
