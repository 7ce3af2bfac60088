import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, Link, Outlet, RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import type { FlagList } from '../../src/contract/flags/flag.ts'
import '../src/theme/tokens.css'
import '../src/theme/base.css'
import '../src/theme/table.css'

const root = createRootRoute({ component: Outlet })

const moments = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })

const read = async (ns: string, signal: AbortSignal): Promise<FlagList> => {
  const address = `api/v1/namespaces/${ns}/flags?sort=name&include=targeting&limit=50`
  return (await (await fetch(new URL(address, document.baseURI), { signal })).json()) as FlagList
}

/** Plain table of the flags, the baseline for the list of the web UI. */
const Flags = () => {
  const { ns } = flagsRoute.useParams()
  const { data } = useQuery({ queryKey: ['flags', ns], queryFn: ({ signal }) => read(ns, signal) })
  return (
    <table>
      <tbody>
        {data?.flags.map(({ key, name, type, enabled, rollouts = [], changedAt, updatedAt, changedBy }) => (
          <tr key={key}>
            <th scope="row">
              <Link to="/ns/$ns/flags/$key" params={{ ns, key }}>
                {name}
              </Link>{' '}
              <code>{key}</code>
            </th>
            <td>{type}</td>
            <td>{String(enabled)}</td>
            <td>
              {rollouts
                .map(({ threshold, segment }) =>
                  threshold ? `${threshold.percentage} %` : segment?.segmentKeys?.join(', '),
                )
                .join('; ')}
            </td>
            <td>
              <time dateTime={changedAt}>{moments.format(new Date(changedAt ?? updatedAt))}</time> {changedBy?.kind}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const flagsRoute = createRoute({ getParentRoute: () => root, path: '/ns/$ns/flags', component: Flags })
const flagRoute = createRoute({ getParentRoute: () => root, path: '/ns/$ns/flags/$key' })

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={new QueryClient()}>
    <RouterProvider router={createRouter({ routeTree: root.addChildren([flagsRoute, flagRoute]) })} />
  </QueryClientProvider>,
)
