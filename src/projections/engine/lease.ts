/**
 * PORT. One holder at a time among all instances that share a store: the holder writes the views. The lease of one
 * holder ends before another's begins, whatever the clocks show. Never rejects: if the server is out of reach, the lease is not held.
 */
export type Lease = {
  /**
   * True while no other instance can hold it. Check it before each piece of work, because the lease ends by itself when
   * the server is unreachable.
   */
  readonly held: () => boolean
  /**
   * Holds the lease only while the condition is true. If the condition is false, the instance releases the lease, and
   * waits before it competes again.
   */
  readonly onlyWhile: (able: () => boolean) => void
  /** Releases the lease for good, so that another instance does not wait for its end. */
  readonly close: () => Promise<void>
}
