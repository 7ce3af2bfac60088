/** A log is told from any other by its first event. */
export type LogIdentity = { readonly event: string; readonly position: bigint }

/** PORT. Which log a deployment was begun on. It is kept beside the keys, for whoever has lost these has lost what the log says. Failure: Refusal `backend_unavailable`. */
export type Binding = {
  /** Undefined before there was an event. */
  readonly read: () => Promise<LogIdentity | undefined>
  /** Written once. Gives what stands there then: another log where another was first. */
  readonly write: (identity: LogIdentity) => Promise<LogIdentity>
}
