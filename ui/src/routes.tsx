import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { namesFirstTab } from './links.ts'
import { Broken, BrokenAlone } from './pages/broken.tsx'
import { searchKept } from './pages/evaluate/search.ts'
import { Home } from './pages/home.tsx'
import { NoSuchPage } from './pages/no-such-page.tsx'
import { SignedIn } from './pages/signed-in.tsx'
import { Shell } from './shell/shell.tsx'

/** Keeps the named parameters of a query that are non-empty texts, and drops the rest. */
const asked =
  <K extends string>(...names: readonly K[]) =>
  (search: Record<string, unknown>): { readonly [N in K]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => (typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [])),
    ) as { readonly [N in K]?: string }

/** Query of an evaluation: flag, entity, `c.<property>` for each known property of the entity, and the moment. */
const evaluationAsked = (
  search: Record<string, unknown>,
): { readonly flag?: string; readonly entity?: string; readonly at?: string } => ({
  ...searchKept(search),
  ...asked('at')(search),
})

const tabs = ['targeting', 'about'] as const
type Tab = (typeof tabs)[number]

/** Query of a flag or segment: its tab, if valid, and the moment. */
const tabAsked = (search: Record<string, unknown>): { readonly tab?: Tab; readonly at?: string } => {
  const tab = tabs.find((one) => one === search['tab'])
  return { ...asked('at')(search), ...(tab !== undefined && { tab }) }
}

/** Removes the first tab from the address, unless the address needs it. */
const withoutFirstTab = (key: string, { tab, ...search }: ReturnType<typeof tabAsked>): void => {
  if (tab === tabs[0] && !namesFirstTab(key)) throw redirect({ to: '.', search: search as never, replace: true })
}

const root = createRootRoute({ component: Outlet, errorComponent: BrokenAlone })

export const loginRoute = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: asked('error', 'ref', 'return_to'),
  component: lazyRouteComponent(() => import('./pages/login.tsx'), 'Login'),
})
const signedInRoute = createRoute({ getParentRoute: () => root, path: '/signed-in', component: SignedIn })

/** Parent of every page that requires a sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  validateSearch: asked('at'),
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
export const flagsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/ns/$ns/flags',
  validateSearch: asked('q', 'type', 'state', 'sort', 'page', 'at'),
  component: lazyRouteComponent(() => import('./pages/flags/flags.tsx'), 'Flags'),
})
export const flagRoute = createRoute({
  getParentRoute: () => inside,
  path: '/ns/$ns/flags/$key',
  validateSearch: tabAsked,
  beforeLoad: ({ params, search }) => withoutFirstTab(params.key, search),
  component: lazyRouteComponent(() => import('./pages/flag/flag.tsx'), 'FlagOrForm'),
})
const evaluateRoute = createRoute({
  getParentRoute: () => inside,
  path: '/ns/$ns/evaluate',
  validateSearch: evaluationAsked,
  component: lazyRouteComponent(() => import('./pages/evaluate/evaluate.tsx'), 'EvaluatePage'),
})
export const segmentsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/ns/$ns/segments',
  validateSearch: asked('q', 'sort', 'page', 'at'),
  component: lazyRouteComponent(() => import('./pages/segments/segments.tsx'), 'Segments'),
})
export const segmentRoute = createRoute({
  getParentRoute: () => inside,
  path: '/ns/$ns/segments/$key',
  validateSearch: tabAsked,
  beforeLoad: ({ params, search }) => withoutFirstTab(params.key, search),
  component: lazyRouteComponent(() => import('./pages/segment/segment.tsx'), 'SegmentOrForm'),
})
export const tokensRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/tokens',
  validateSearch: asked('q', 'status', 'ns', 'sort', 'page', 'at'),
  component: lazyRouteComponent(() => import('./pages/tokens/tokens.tsx'), 'Tokens'),
})
export const tokenRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/tokens/$id',
  validateSearch: asked('at'),
  component: lazyRouteComponent(() => import('./pages/tokens/token.tsx'), 'TokenPage'),
})
export const sessionsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/sessions',
  validateSearch: asked('q', 'method', 'status', 'page', 'at'),
  component: lazyRouteComponent(() => import('./pages/sessions/sessions.tsx'), 'Sessions'),
})
export const sessionRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/sessions/$id',
  validateSearch: asked('at'),
  component: lazyRouteComponent(() => import('./pages/sessions/session.tsx'), 'SessionPage'),
})
export const namespacesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/namespaces',
  validateSearch: asked('q', 'page', 'at'),
  component: lazyRouteComponent(() => import('./pages/namespaces/namespaces.tsx'), 'Namespaces'),
})
const preferencesRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings/preferences',
  component: lazyRouteComponent(() => import('./pages/preferences.tsx'), 'PreferencesPage'),
})

const texts = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search))

export const router = createRouter({
  routeTree: root.addChildren([
    loginRoute,
    signedInRoute,
    inside.addChildren([
      elsewhere,
      home,
      flagsRoute,
      flagRoute,
      evaluateRoute,
      segmentsRoute,
      segmentRoute,
      tokensRoute,
      tokenRoute,
      sessionsRoute,
      sessionRoute,
      namespacesRoute,
      preferencesRoute,
    ]),
  ]),
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
