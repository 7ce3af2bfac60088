/**
 * PORT. One holder at a time among all instances that share a store: the holder follows the log for the views. One
 * holder's time is over before another's begins, whatever the clocks show. Never rejects: out of reach, it is not held.
 */
export type Lease = {
  /** True while no other can hold it. Ask before each piece of work: it ends by itself when the server is out of reach. */
  readonly held: () => boolean
  /** From here on it is had only while this is so: a holder of whom it is not gives it up to another, and is not the next one at once. */
  readonly onlyWhile: (able: () => boolean) => void
  /** Gives it up for good, so that another need not wait for its end. */
  readonly close: () => Promise<void>
}
