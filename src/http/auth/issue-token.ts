import { randomUUID } from 'node:crypto'
import { publishable, reachOf } from '../../access/reach.ts'
import { mint, type TokenKind, type TokenSecrets } from '../../auth/client-token.ts'
import { type Context, idFrom } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import { unwritten } from '../../commands/stream-folds.ts'
import { token } from '../../commands/token.ts'
import type { IssuedToken } from '../../contract/token.ts'
import type { DataOf } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import type { TokenEvent } from '../../events/token.ts'
import type { RowOf } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import { eventPosition } from '../commands/command-context.ts'
import { presentAuthentication } from '../present/authentication.ts'
import type { CommandServices } from '../services/commands.ts'
import { alreadyShown } from '../steps/idempotency.ts'
import type { Answer } from '../wire/reply.ts'

type Issued = DataOf<TokenEvent, 'TokenIssued'>

/**
 * Token to issue: the data of its event without the fields added at issue. `id` and `clientToken` are set only if they
 * exist already.
 */
export type TokenGrant = Omit<
  Issued,
  'id' | 'digest' | 'fingerprint' | 'ending' | 'issuedAt' | 'issuedBy' | 'metadata'
> & {
  readonly metadata?: Issued['metadata']
  readonly id?: string
  readonly clientToken?: string | undefined
}

/** Number of last characters of a static token that its record shows. */
const ENDING = 4

const newToken = unwritten(token)

/** Kind of a token, which determines its prefix. */
const kindOf = (grant: Omit<TokenGrant, 'clientToken'>): TokenKind => {
  if (grant.bootstrap) return 'bootstrap'
  return grant.method === 'token' && publishable(reachOf(grant)) ? 'publishable' : grant.method
}

/** Dependencies of `issueToken`. `applied` applies events to memory and returns a lookup of the resulting rows. */
export type Issuer = {
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<RowOf>
  readonly secrets: TokenSecrets
  readonly now: () => Date
}

/**
 * Issues a client token and applies its events to memory. The secret is generated unless given. Each attempt of a
 * command with an id has the same secret. `lost`: the log has the digest of another secret, which nobody can derive.
 */
export const issueToken = async ({ execute, applied, secrets, now }: Issuer, grant: TokenGrant, context: Context) => {
  const { commandId, actor } = context
  const newSecret = (kind: TokenKind) => (commandId === undefined ? mint(kind) : secrets.ofCommand(kind, commandId))
  const at = now()
  const {
    id = commandId === undefined ? randomUUID() : idFrom(commandId, 'token'),
    clientToken: sent = newSecret(kindOf(grant)),
    metadata = {},
    ...rest
  } = grant
  const data = {
    ...rest,
    id,
    ...secrets.digests(sent),
    // A secret that was given may be short, so none of it is kept.
    ...(grant.method === 'token' && grant.clientToken === undefined && { ending: sent.slice(-ENDING) }),
    issuedAt: at.toISOString(),
    metadata,
    ...(actor.id !== undefined && { issuedBy: actor.id }),
  }
  // A new id has no earlier events, so its stream is not read.
  const known = grant.id === undefined ? newToken : undefined
  const { stored, events, revision, repeated } = await execute(token, id, 'IssueToken', data, context, known)
  const rows = await applied(stored)
  const issued = events[0]!.data as Issued
  // Another instance may give the same grant a token of a different kind, so the kind of the stored token counts.
  const clientToken = repeated ? newSecret(kindOf(issued)) : sent
  const lost = repeated && secrets.digests(clientToken).digest !== issued.digest
  return { clientToken, lost, doc: rows(tokens, id)!.doc!, at, stored, revision }
}

/** Answer to a token request: the record, and the client token. The idempotency record gives the secret only once. */
export const answerIssued = async (
  { names, sealer }: CommandServices,
  { clientToken, lost, doc, at, stored, revision }: Awaited<ReturnType<typeof issueToken>>,
  requestId: string,
): Promise<Answer<IssuedToken>> => {
  const authentication = await presentAuthentication(doc, names, sealer, at)
  const answer = { etag: String(revision), headers: eventPosition(stored.at(-1)!.position) }
  return lost
    ? { ...answer, body: alreadyShown({ authentication }, requestId) }
    : { ...answer, body: { authentication }, secret: { clientToken } }
}
