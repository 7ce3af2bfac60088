import { randomUUID } from 'node:crypto'
import { mint } from '../../auth/client-token.ts'
import { idFrom } from '../../commands/envelope.ts'
import type { Context } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import { token } from '../../commands/token.ts'
import { invalid } from '../../errors.ts'
import { optional, text, timestamp } from '../../contract/fields.ts'
import { tokenMetadata } from '../../contract/token-metadata.ts'
import { input } from '../../contract/input.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { Input } from '../../contract/field.ts'

/** Something that an eye can see, and nothing that shows it another text than the one that is there. */
const legible = {
  test: (name: string) => /[^\p{Z}\p{Cc}\p{Cf}\p{DI}]/u.test(name) && !/\p{Bidi_Control}/u.test(name),
  message: 'must be text that can be seen, without marks that turn its direction',
}

/** What a client may ask of a static token; the rules of api.md §5.4 A7. */
export const staticTokenInput = (names: Names) =>
  input({
    name: text({ required: true, trim: true, max: 255, control: false, pattern: legible }),
    description: text({ max: 1024 }),
    expiresAt: optional(timestamp()),
    namespaceKey: text({ trim: true }),
    metadata: tokenMetadata(names),
  })
export type StaticToken = ReturnType<typeof staticTokenInput> extends Input<infer T> ? T : never

/** Refuses an expiry that is not in the future. */
export const inFuture = ({ expiresAt }: StaticToken, now: Date): void => {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) invalid('expiresAt', 'must be in the future')
}

/** Mints a client token and issues it. The same command again gives the outcome of the first time, whose secret nobody knows any more. */
export const issueStaticToken = async (
  {
    execute,
    digest,
    now,
  }: { readonly execute: Execute; readonly digest: (secret: string) => string; readonly now: () => Date },
  { name, description, expiresAt, namespaceKey, metadata }: StaticToken,
  context: Context,
) => {
  const id = context.commandId === undefined ? randomUUID() : idFrom(context.commandId, 'token')
  const clientToken = mint('token')
  const scope = namespaceKey === '' ? {} : { namespace: namespaceKey }
  const data = {
    id,
    digest: digest(clientToken),
    method: 'token' as const,
    issuedAt: now().toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...scope,
    attributes: {
      'token.name': name,
      ...(description === '' ? {} : { 'token.description': description }),
      ...(namespaceKey === '' ? {} : { 'token.namespace': namespaceKey }),
    },
    metadata,
    ...(context.actor.id === undefined ? {} : { issuedBy: context.actor.id }),
  }
  return { clientToken, ...(await execute(token, id, 'IssueToken', data, context)) }
}
