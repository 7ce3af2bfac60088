import {
  BeakerIcon,
  DevicesIcon,
  HistoryIcon,
  IdBadgeIcon,
  KeyIcon,
  PeopleIcon,
  ServerIcon,
  SlidersIcon,
  StackIcon,
  TelescopeIcon,
} from '@primer/octicons-react'
import { lazyRouteComponent } from '@tanstack/react-router'
import { EVERY, type Needed } from './api/access.ts'
import type { Entry, Page } from './page-definition.ts'
import {
  evaluationParameters,
  historyParameters,
  omitFirstTab,
  parameters,
  recordParameters,
  tabParameters,
} from './page-search.ts'
import { shell } from './words/shell.ts'

const anyOf = (thing: string, ...acts: readonly string[]): readonly Needed[] =>
  acts.map((act) => ({ right: `${thing}.${act}` }))
const allOf = (thing: string) => anyOf(thing, 'read', 'create', 'update', 'delete')

/** Every page inside the shell, in the order of the navigation and the command palette. */
export const pages = {
  flags: {
    path: '/ns/$ns/flags',
    search: parameters('q', 'type', 'state', 'asked', 'sort', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/flags/flags.tsx'), 'Flags'),
    entry: {
      group: 'namespace',
      words: shell.flags,
      icon: TelescopeIcon,
      first: true,
      key: 'f',
      needs: allOf('flag'),
    },
  },
  flag: {
    path: '/ns/$ns/flags/$key',
    search: tabParameters,
    beforeLoad: omitFirstTab,
    component: lazyRouteComponent(() => import('./pages/flag/flag.tsx'), 'FlagOrForm'),
    entry: undefined,
  },
  segments: {
    path: '/ns/$ns/segments',
    search: parameters('q', 'sort', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/segments/segments.tsx'), 'Segments'),
    entry: {
      group: 'namespace',
      words: shell.segments,
      icon: PeopleIcon,
      first: true,
      key: 's',
      needs: allOf('segment'),
    },
  },
  segment: {
    path: '/ns/$ns/segments/$key',
    search: tabParameters,
    beforeLoad: omitFirstTab,
    component: lazyRouteComponent(() => import('./pages/segment/segment.tsx'), 'SegmentOrForm'),
    entry: undefined,
  },
  evaluate: {
    path: '/ns/$ns/evaluate',
    search: evaluationParameters,
    component: lazyRouteComponent(() => import('./pages/evaluate/evaluate.tsx'), 'EvaluatePage'),
    entry: {
      group: 'namespace',
      words: shell.evaluate,
      icon: BeakerIcon,
      key: 'e',
      needs: anyOf('flag', 'evaluate'),
    },
  },
  history: {
    path: '/history',
    search: historyParameters,
    component: lazyRouteComponent(() => import('./pages/history/history.tsx'), 'HistoryPage'),
    entry: {
      group: 'namespace',
      words: shell.history,
      icon: HistoryIcon,
      first: true,
      key: 'h',
      needs: [{ right: 'audit.read', namespaceKey: EVERY }, { right: 'history.read' }],
    },
  },
  event: {
    path: '/history/$position',
    search: parameters('at'),
    component: lazyRouteComponent(() => import('./pages/history/event.tsx'), 'EventPage'),
    entry: undefined,
  },
  access: {
    path: '/access',
    search: parameters('right', 'ns', 'token', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/access/access.tsx'), 'AccessPage'),
    entry: {
      group: 'namespace',
      words: shell.access,
      icon: IdBadgeIcon,
      key: 'a',
      needs: [{ right: 'audit.read', namespaceKey: EVERY }],
    },
  },
  tokens: {
    path: '/settings/tokens',
    search: parameters('q', 'status', 'ns', 'access', 'maker', 'sort', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/tokens/tokens.tsx'), 'Tokens'),
    entry: {
      group: 'settings',
      words: shell.tokens,
      icon: KeyIcon,
      first: true,
      short: shell.tokensShort,
      key: 't',
      needs: anyOf('token', 'read', 'create', 'revoke'),
    },
  },
  token: {
    path: '/settings/tokens/$id',
    search: recordParameters,
    component: lazyRouteComponent(() => import('./pages/tokens/token.tsx'), 'TokenPage'),
    entry: undefined,
  },
  sessions: {
    path: '/settings/sessions',
    search: parameters('q', 'method', 'status', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/sessions/sessions.tsx'), 'Sessions'),
    entry: {
      group: 'settings',
      words: shell.sessions,
      icon: DevicesIcon,
      needs: [{ right: 'token.read', namespaceKey: EVERY }],
    },
  },
  session: {
    path: '/settings/sessions/$id',
    search: recordParameters,
    component: lazyRouteComponent(() => import('./pages/sessions/session.tsx'), 'SessionPage'),
    entry: undefined,
  },
  namespaces: {
    path: '/settings/namespaces',
    search: parameters('q', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/namespaces/namespaces.tsx'), 'Namespaces'),
    entry: { group: 'settings', words: shell.namespaces, icon: StackIcon, needs: allOf('namespace') },
  },
  compare: {
    path: '/history/compare',
    search: parameters('stream', 'ns', 'a', 'b', 'view', 'page', 'at'),
    component: lazyRouteComponent(() => import('./pages/compare/compare.tsx'), 'ComparePage'),
    entry: undefined,
  },
  preferences: {
    path: '/settings/preferences',
    component: lazyRouteComponent(() => import('./pages/preferences.tsx'), 'PreferencesPage'),
    entry: { group: 'settings', words: shell.preferences, icon: SlidersIcon, needs: [] },
  },
  system: {
    path: '/system',
    component: lazyRouteComponent(() => import('./pages/system/system.tsx'), 'SystemPage'),
    entry: {
      group: 'settings',
      words: shell.system,
      icon: ServerIcon,
      needs: [{ right: 'audit.read', namespaceKey: EVERY }],
    },
  },
} as const satisfies Readonly<Record<string, Page>>

/** Path and entry of every page in the navigation. */
export const entries: readonly (Entry & { readonly to: string })[] = Object.values<Page>(pages).flatMap(
  ({ path, entry }) => (entry ? [{ to: path, ...entry }] : []),
)
