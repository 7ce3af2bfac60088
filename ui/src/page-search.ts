import { redirect } from '@tanstack/react-router'
import { EVENT_FILTERS } from './api/event-filters.ts'
import { namesFirstTab } from './links.ts'
import { searchKept } from './pages/evaluate/search.ts'

/** Reads the named parameters of a query. Empty values and other parameters are dropped. */
export const parameters =
  <K extends string>(...names: readonly K[]) =>
  (search: Record<string, unknown>): { readonly [N in K]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => (typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [])),
    ) as { readonly [N in K]?: string }

const moment = parameters('at')

/**
 * Reads the query of an evaluation: flag, entity, `c.<property>` for each known property of the entity, and the moment.
 */
export const evaluationParameters = (
  search: Record<string, unknown>,
): { readonly flag?: string; readonly entity?: string; readonly at?: string } => ({
  ...searchKept(search),
  ...moment(search),
})

/** Reads the query of the history: its filters, the position of the open event, and whether it is live. */
export const historyParameters = parameters(...EVENT_FILTERS, 'live', 'open', 'page', 'at')

const timeline = parameters('open', 'page')

/** Reads the query of a token or session: the page and open event of its history, and the moment. */
export const recordParameters = parameters('open', 'page', 'at')

const tabs = ['targeting', 'history', 'about'] as const
type Tab = (typeof tabs)[number]

/** The moment that a page shows, the moment whose state to restore, and the flag to copy, `namespace/key`. */
const moments = parameters('at', 'restore', 'copy')

type TabSearch = ReturnType<typeof moments> & ReturnType<typeof timeline> & { readonly tab?: Tab }

/**
 * Reads the query of a flag or segment: its tab, its moments, and the page and open event of its history. An unknown tab
 * is dropped.
 */
export const tabParameters = (search: Record<string, unknown>): TabSearch => {
  const tab = tabs.find((one) => one === search['tab'])
  return {
    ...moments(search),
    ...(tab !== undefined && { tab }),
    ...(tab === 'history' && timeline(search)),
  }
}

/** Redirects to the address without a tab if the tab is the first one, except where the address needs it. */
export const omitFirstTab = ({ params, search }: { readonly params: object; readonly search: object }): void => {
  const { key } = params as { readonly key: string }
  const { tab, ...others } = search as ReturnType<typeof tabParameters>
  if (tab === tabs[0] && !namesFirstTab(key)) throw redirect({ to: '.', search: others as never, replace: true })
}
