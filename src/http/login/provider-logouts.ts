import type { LogoutToken } from '../../auth/oidc/logout.ts'
import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import { refusalFor } from '../../auth/refusal-details.ts'
import { type Refusal, refusals } from '../../base/errors.ts'
import type { Context } from '../../commands/envelope.ts'
import type { Execute, FoldOf } from '../../commands/execute.ts'
import { logout } from '../../commands/login.ts'
import { token } from '../../commands/token.ts'
import type { DataOf } from '../../events/define.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { LogoutEvent } from '../../events/login.ts'
import { readEvent } from '../../events/unreadable.ts'
import { meets, ofStatus, type Where } from '../../projections/token-status.ts'
import type { Views } from '../../projections/views.ts'
import { tokenBatches } from '../auth/token-records.ts'

/** Maximum difference in ms between the issue of an ID token and that of a logout token during its login. */
const AROUND_MS = 60_000
const SIGNED_OUT = `handling OIDC callback: ${refusals.login_signed_out.sentence}`

type Received = DataOf<LogoutEvent, 'ProviderLogoutReceived'>

type Sources = {
  readonly execute: Execute
  readonly foldOf: FoldOf
  readonly log: Pick<EventLog, 'read'>
  /** Applies events appended by this instance to memory. */
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  readonly views: Pick<Views, 'list'>
  /** Resolves once the token view contains all events of the log. Refuses with `view_behind`. */
  readonly complete: () => Promise<unknown>
  /** Unreadable tokens, with their last readable state. */
  readonly unreadable: () => readonly (readonly [id: string, closed: { readonly before?: object }])[]
  readonly pseudonyms: Pseudonyms
  readonly now: () => Date
}

/** Login that has issued a token. */
type SignIn = {
  readonly tokenId: string
  readonly provider: string
  readonly identity: string
  readonly providerSession?: string
  /** Time of issue of the ID token as RFC 3339 UTC. */
  readonly issuedAt: string
  /** Position in the log from which the login was in work. */
  readonly since: bigint
}

/** Conditions of the active sessions that a logout ends. */
const sessionsOf = ({ provider, identity, session }: Received, now: Date): Where => ({
  method: { equals: ['oidc'] },
  provider: { equals: [provider] },
  ...(identity === undefined ? { providerSession: { equals: [session!] } } : { identity: { equals: [identity] } }),
  ...ofStatus.ACTIVE(now.toISOString()),
})

/** Id of the stream of the logouts of a person or session on one day. */
const streamId = (day: string, provider: string, who: string): string => `${day.slice(0, 10)}+${provider}.${who}`

/** True if a logout token for a login arrived since its callback, and was issued at or after its ID token. */
const isSignedOut = async (
  { log }: Pick<Sources, 'log'>,
  { provider, identity, providerSession, issuedAt, since }: SignIn,
): Promise<boolean> => {
  const latest = new Date(Date.parse(issuedAt) + AROUND_MS).toISOString()
  const days = new Set([issuedAt, latest].map((at) => at.slice(0, 10)))
  for (const day of days)
    for (const who of [identity, ...(providerSession === undefined ? [] : [providerSession])])
      for await (const page of log.read(`${logout.category}-${streamId(day, provider, who)}`))
        for (const stored of page) {
          if (stored.position <= since) continue
          const { type, data }: LogoutEvent = readEvent(logout.read, stored)
          if (type === 'ProviderLogoutReceived' && data.issuedAt >= issuedAt) return true
        }
  return false
}

/** True unless the log shows that a token was issued after a position. */
const isIssuedBefore = async ({ log }: Pick<Sources, 'log'>, id: string, position: bigint): Promise<boolean> => {
  for await (const [first] of log.read(`${token.category}-${id}`, 0n, 1))
    if (first?.revision === 0n) return first.position < position
  return true
}

/** Logouts that OpenID Connect providers report by logout tokens (api.md §5.5). */
export const providerLogouts = (sources: Sources) => {
  const { execute, foldOf, applied, complete, unreadable, pseudonyms, now } = sources

  const receivedOf = (provider: string, { issuer, jti, issuedAt, sub, sid }: LogoutToken): Received => ({
    jti: pseudonyms.logoutToken(issuer, jti),
    provider,
    issuedAt,
    ...(sub === undefined
      ? { session: pseudonyms.session(issuer, sid!) }
      : { subject: pseudonyms.subject('oidc', issuer, sub), identity: pseudonyms.identity('oidc', sub) }),
  })
  const idOf = ({ provider, issuedAt, identity, session }: Received) =>
    streamId(issuedAt, provider, (identity ?? session)!)

  /**
   * Ends every session of a logout and completes the logout. `position` is that of its first event: later logins check
   * the logout themselves. Sessions that have ended before are left as they are.
   */
  const finish = async (received: Received, position: bigint, context: Context): Promise<number> => {
    const { jti, provider } = received
    let sessions = 0
    const end = async (id: string) => {
      if (!(await isIssuedBefore(sources, id, position))) return
      const { stored } = await execute(token, id, 'RevokeToken', { id, provider }, context)
      await applied(stored)
      sessions += stored.length
    }
    await complete()
    const where = sessionsOf(received, now())
    const closed = unreadable().filter(([, { before }]) => before && meets(before, where))
    await Promise.all(closed.map(([id]) => end(id)))
    for await (const docs of tokenBatches(sources, () => where)) await Promise.all(docs.map(({ id }) => end(id)))
    await execute(logout, idOf(received), 'CompleteLogout', { jti, provider, sessions }, context)
    return sessions
  }

  return {
    /**
     * Accepts a logout token of a provider once, and ends the sessions that it names. Returns the number of ended
     * sessions when the ends are durable. Refuses a repeated token with `logout_token_replayed`. The job
     * `provider-logouts` finishes a logout that was interrupted.
     */
    end: async (provider: string, token: LogoutToken, context: Context): Promise<number> => {
      const received = receivedOf(provider, token)
      const { stored } = await execute(logout, idOf(received), 'ReceiveLogout', received, context)
      const { id: causationId, position } = stored.at(-1)!
      return finish(received, position, { ...context, causationId, correlationId: causationId })
    },

    /** Finishes an accepted logout if it was interrupted. */
    resume: async (received: Received, { id: causationId, position }: Stored): Promise<void> => {
      const { state } = await foldOf(logout, idOf(received))
      if (state.tokens.get(received.jti) !== false) return
      await finish(received, position, { actor: { kind: 'system' }, causationId, correlationId: causationId })
    },

    /**
     * Ends the token of a login if a logout token for its person or session arrived while the login was in work, and was
     * issued at or after the ID token. Returns the refusal of the login; undefined if there is no such logout token.
     * Called after the token was issued, so that either the login or the logout finds the other one.
     */
    refusalOf: async (login: SignIn, context: Context): Promise<Refusal | undefined> => {
      if (!(await isSignedOut(sources, login))) return undefined
      const { tokenId: id, provider } = login
      await applied((await execute(token, id, 'RevokeToken', { id, provider }, context)).stored)
      return refusalFor('login_signed_out', {}, { message: SIGNED_OUT })
    },
  }
}

export type ProviderLogouts = ReturnType<typeof providerLogouts>
