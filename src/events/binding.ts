/** Identity of a log: its first event. */
export type LogIdentity = { readonly event: string; readonly position: bigint }

/**
 * PORT. Binds a deployment to its log. Stored with the keys, because without the keys the log is unreadable. Failure:
 * Refusal `backend_unavailable`.
 */
export type Binding = {
  /** The result is undefined before the first event. */
  readonly read: () => Promise<LogIdentity | undefined>
  /** Stores the identity once, and returns the stored one: a different log if one was bound before. */
  readonly write: (identity: LogIdentity) => Promise<LogIdentity>
}
