import type { Limiter } from '../../auth/rate-limit.ts'
import type { LastUses } from '../../jobs/last-uses.ts'
import type { TokenEntry } from '../../projections/token-memory/token-index.ts'
import type { KnownCaller } from '../auth/callers.ts'
import type { FormerTokens } from '../auth/former-tokens.ts'
import type { StreamTickets } from '../streams/tickets.ts'

/**
 * A token in use by requests. `judged`: latest access configuration that is known to remove nothing more from it; for a
 * static token, the maximum. `caller` is set at the first request of the token.
 */
export type TokenInUse = TokenEntry & { judged: number; caller?: KnownCaller }

/** Result of looking up a secret. `isOurs`: it is or was a token of this installation. */
export type Looked = { readonly isOurs: boolean; readonly entry?: TokenInUse }

/** Finds the token of a secret. */
export type TokenVerifier = {
  /**
   * Entry of a cached token that is valid at `time` (epoch ms, by default now) and has the same rights. An undefined
   * result does not mean that the token is invalid.
   */
  readonly cached: (secret: string, time?: number) => TokenInUse | undefined
  /** Id of a token that was valid here and may have ended since; undefined implies nothing. */
  readonly idBefore: (secret: string) => string | undefined
  /** Entry of any valid token; undefined for any other text. */
  readonly verify: (secret: string) => Promise<TokenInUse | undefined>
  /** Entry of a valid token by its id; undefined for any other text. */
  readonly byId: (id: string) => TokenInUse | undefined | Promise<TokenInUse | undefined>
  readonly look: (secret: string) => Promise<Looked>
}

/** Effect of the access rules on a token: it keeps its grants, has lost some of them, or has ended. */
export type Outcome = 'kept' | 'narrowed' | 'ended'

/** Applies the access rules of this instance to a login or an exchange issued under earlier rules. */
export type Narrow = (id: string) => Promise<Outcome>

/** Services that decide about the credential of a request. */
export type AuthServices = {
  readonly verifier: TokenVerifier
  readonly formerTokens: FormerTokens
  /** Tickets of event streams. */
  readonly tickets: StreamTickets
  /** False while this instance cannot prove that it knows all revocations. */
  readonly fresh: () => boolean
  /** True if no other instance writes to this log, so memory always has its newest event. */
  readonly alone: boolean
  /** Last uses of tokens. */
  readonly uses: LastUses
  /** Counts requests with an invalid credential by client address. */
  readonly failures: Limiter
  /** Counts requests by publishable token and client address; undefined: no limit. */
  readonly clients: Limiter | undefined
}
