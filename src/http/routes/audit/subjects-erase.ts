import { erasureRequest, SubjectErased } from '../../../contract/history/searches.ts'
import { eventPosition } from '../../commands/command-context.ts'
import { eraseSubject } from '../../history/erase-subject.ts'
import { route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { ErasureMount } from '../../services/history.ts'

/** POST /audit/v1/subjects/erase: destroys the keys of a subject (api.md §16.18). */
export const auditSubjectsEraseRoutes: ErasureMount = (app, service) => {
  route(app, {
    method: 'POST',
    url: '/audit/v1/subjects/erase',
    ...audit,
    access: { credential: 'always', namespace: 'none', right: 'subject.erase' },
    writes: 'always',
    summary: 'Erase the personal data of a subject: destroy the keys with which the history encrypts it.',
    body: erasureRequest,
    errors: ['not_found', 'view_behind'],
    answer: SubjectErased,
    run: async (call) => {
      const body = await eraseSubject(service, call)
      return { body, headers: eventPosition(BigInt(body.position)) }
    },
  })
}
