import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  retainSearchParams,
} from '@tanstack/react-router'
import type { Page } from './page-definition.ts'
import { parameters } from './page-search.ts'
import { Broken, BrokenAlone } from './pages/broken.tsx'
import { Home } from './pages/home.tsx'
import { NoSuchPage } from './pages/no-such-page.tsx'
import { SignedIn } from './pages/signed-in.tsx'
import { pages } from './pages.ts'
import { Shell } from './shell/shell.tsx'

const root = createRootRoute({ component: Outlet, errorComponent: BrokenAlone })

const loginRoute = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: parameters('error', 'ref', 'return_to', 'signed_out'),
  component: lazyRouteComponent(() => import('./pages/login.tsx'), 'Login'),
})
const signedInRoute = createRoute({ getParentRoute: () => root, path: '/signed-in', component: SignedIn })

/** Parent of every page that requires a sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  validateSearch: parameters('at'),
  // Every link keeps the moment until the user returns to the present.
  search: { middlewares: [retainSearchParams(['at'])] },
})
/** Addresses that match no other page. */
const elsewhere = createRoute({ getParentRoute: () => inside, path: '$', component: NoSuchPage })
const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  component: Home,
})

type Search = (search: Record<string, unknown>) => object
type Pages = typeof pages
type SearchOf<P extends Page> = P extends { readonly search: infer S extends Search } ? S : undefined

/** Makes the route of a page. The search of a page without `search` is that of the shell. */
const routeOf = <const P extends string, S extends Search | undefined>(
  page: Page & { readonly path: P; readonly search?: S },
) =>
  createRoute({
    getParentRoute: () => inside,
    path: page.path,
    validateSearch: page.search as S,
    beforeLoad: (to) => page.beforeLoad?.(to),
    component: page.component,
  })

const routes = Object.fromEntries(
  Object.entries<Page>(pages).map(([name, page]) => [name, routeOf(page)]),
) as unknown as {
  readonly [K in keyof Pages]: ReturnType<typeof routeOf<Pages[K]['path'], SearchOf<Pages[K]>>>
}

const texts = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search))

export const router = createRouter({
  routeTree: root.addChildren([loginRoute, signedInRoute, inside.addChildren({ elsewhere, home, ...routes })]),
  basepath: new URL(document.baseURI).pathname,
  // Drop unknown parameters from the address.
  search: { strict: true },
  // Parameters are plain texts, not JSON.
  parseSearch: texts,
  // The moment is the last parameter.
  stringifySearch: ({ at, ...search }) => {
    const given = Object.entries({ ...search, at }).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    )
    return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
  },
  scrollRestoration: true,
  defaultPendingMs: 150,
  defaultErrorComponent: Broken,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
  interface HistoryState {
    /** Page tokens of the previous pages. */
    readonly before?: readonly string[]
  }
}
