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
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // Retry once after no answer, never after an error answer.
      retry: (failures, error) => failures < 1 && isFailure(error) && error.status === 0,
      retryDelay: 300,
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
