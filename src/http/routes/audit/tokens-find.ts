import { TokenFound, tokenSearch } from '../../../contract/history/searches.ts'
import { findToken } from '../../history/find-token.ts'
import { countReading } from '../../history/recorded-reads.ts'
import { route } from '../../route/route.ts'
import { searching } from '../../route/statements.ts'
import type { SearchMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** POST /audit/v1/tokens/find: the token of a SHA-256 (api.md §16.10). */
export const auditTokensFindRoutes: SearchMount = (app, service) =>
  route(app, {
    method: 'POST',
    url: '/audit/v1/tokens/find',
    ...searching,
    summary: 'Find a token, also an expired or deleted one, by the SHA-256 of its text.',
    body: tokenSearch,
    errors: ['view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: TokenFound,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const sha256 = Buffer.from(call.body.sha256, 'hex')
        const body = await findToken(service, sha256, call.request.stop)
        countReading(service, call, 0)
        return { body }
      }),
  })
