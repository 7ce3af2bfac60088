import { SubjectsFound } from '../../../contract/history/searches.ts'
import { holder } from '../../../contract/token.ts'
import { tokens } from '../../../projections/tokens.ts'
import { findSubjects } from '../../history/find-subjects.ts'
import { countReading } from '../../history/recorded-reads.ts'
import { leavingOut } from '../../lists/paging.ts'
import { route } from '../../route/route.ts'
import { searching } from '../../route/statements.ts'
import type { SearchMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** POST /audit/v1/subjects/find: the subjects of a person (api.md §16.11). */
export const auditSubjectsFindRoutes: SearchMount = (app, service) => {
  const { names, closed } = service
  route(app, {
    method: 'POST',
    url: '/audit/v1/subjects/find',
    ...searching,
    summary: 'Find the subjects of a person, with the state of their personal data and their tokens and events.',
    body: holder(names),
    errors: ['view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: SubjectsFound,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const { identity, provider } = call.body
        const person = { method: names.methodNamed(call.body.method)!, identity, provider }
        const subjects = await findSubjects(service, person, call.request.stop)
        countReading(service, call, 0)
        return leavingOut(service, closed.count(tokens.category), { body: { subjects } })
      }),
  })
}
