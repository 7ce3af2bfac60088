import type { FastifyInstance } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { mint } from '../../auth/secret.ts'
import { idFrom } from '../../commands/envelope.ts'
import { token } from '../../commands/token.ts'
import { invalid, refuse } from '../../errors.ts'
import { namespaces } from '../../projections/namespaces.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { Authentication, presentAuthentication } from '../authentication.ts'
import { optional, text, texts, timestamp } from '../fields.ts'
import { input } from '../input.ts'
import { revisionMoved } from '../../commands/execute.ts'
import { alreadyShown } from '../requests.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'
import { contextOf, settled } from '../write.ts'

/** POST /auth/v1/method/token: a static token (api.md §5.4 A7). */
export const authTokenRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, execute, sealer, views, now, digest } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/method/token',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Create a static token; its client token is shown only here.',
    writes: true,
    errors: ['not_found', 'token_scoped'],
    body: input({
      name: text({ required: true, trim: true, max: 255, control: false }),
      description: text({ max: 1024 }),
      expiresAt: optional(timestamp()),
      namespaceKey: text({ trim: true }),
      metadata: texts({
        maxEntries: 32,
        maxKey: 128,
        maxValue: 1024,
        key: (key) => (names.isReserved(key) ? `key "${key}" is reserved` : undefined),
      }),
    }),
    answer: Type.Object({ clientToken: Type.String(), authentication: Authentication }),
    run: async (call) => {
      const { name, description, expiresAt, namespaceKey, metadata } = call.body
      const context = contextOf(call, service)
      if (expiresAt !== undefined && expiresAt <= now().toISOString()) invalid('expiresAt', 'must be in the future')
      if (namespaceKey !== '' && !(await views.get(namespaces, namespaceKey))?.doc)
        refuse('not_found', `namespace "${namespaceKey}" not found`)
      if (context.ifMatch !== undefined) revisionMoved(0n, context.ifMatch === '*' ? '*' : (context.ifMatch[0] ?? ''))

      const id = context.commandId === undefined ? randomUUID() : idFrom(context.commandId, 'token')
      const clientToken = mint('token')
      const { stored, revision, repeated } = await execute(
        token,
        id,
        'IssueToken',
        {
          id,
          digest: digest(clientToken),
          method: 'token',
          issuedAt: now().toISOString(),
          ...(expiresAt === undefined ? {} : { expiresAt }),
          ...(namespaceKey === '' ? {} : { namespace: namespaceKey }),
          attributes: {
            'token.name': name,
            ...(description === '' ? {} : { 'token.description': description }),
            ...(namespaceKey === '' ? {} : { 'token.namespace': namespaceKey }),
          },
          metadata,
        },
        context,
      )
      const { rows, headers } = await settled(service, stored)
      const { doc } = (rows as readonly Row<TokenDoc>[])[0]!
      const authentication = await presentAuthentication(doc!, names, sealer, now())
      const answer = { etag: String(revision), headers }
      return repeated
        ? { ...answer, body: alreadyShown({ authentication }) }
        : { ...answer, body: { authentication }, secret: { clientToken } }
    },
  })
}
