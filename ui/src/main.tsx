import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { isFailure } from './api/failure.ts'
import { Unreachable } from './pages/unreachable.tsx'
import { StatusRegion } from './parts/feedback/status.tsx'
import { Tips } from './parts/feedback/tips.tsx'
import { Loading } from './parts/lists/states.tsx'
import { beginPreferences } from './preferences.ts'
import { router } from './routes.tsx'
import { SessionProvider } from './session.tsx'
import './theme/tokens.css'
import './theme/base.css'
import './theme/parts.css'
import './theme/dialog.css'
import './theme/shell.css'
import './theme/table.css'
import './theme/flag.css'
import './theme/evaluate.css'
import './theme/history.css'
import './theme/compare.css'
import './theme/integrity.css'
import './theme/history-live.css'
import './theme/system.css'

beginPreferences()
/** Time in ms between two reads of a list whose read model is behind. */
const BEHIND_MS = 3000

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // Retry once after no answer, never after an error answer.
      retry: (failures, error) => failures < 1 && isFailure(error) && error.status === 0,
      retryDelay: 300,
      // A read model that is behind catches up by itself.
      refetchInterval: ({ state: { error } }) => isFailure(error) && error.reason === 'view_behind' && BEHIND_MS,
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

createRoot(document.getElementById('root')!).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={client}>
      <StatusRegion>
        <SessionProvider waiting={<Loading />} failed={(retry) => <Unreachable onRetry={retry} />}>
          <RouterProvider router={router} />
        </SessionProvider>
      </StatusRegion>
      <Tips />
    </QueryClientProvider>
  </CSPProvider>,
)
