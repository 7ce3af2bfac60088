/** Identity of a log: its first event. */
export type LogIdentity = { readonly event: string; readonly position: bigint }

/**
 * PORT. Binds a deployment to its log. Stored with the keys, because without the keys the log is unreadable. Failure:
 * Refusal `backend_unavailable`.
 */
export type Binding = {
  /** The result is undefined before the first event. */
  readonly read: () => Promise<LogIdentity | undefined>
  /** Stores the identity of a log, unless an identity is already stored. Returns the stored identity. */
  readonly write: (identity: LogIdentity) => Promise<LogIdentity>
}
