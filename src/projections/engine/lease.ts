/** PORT. One holder at a time over all instances that share a store: who holds it follows the log for the views. A holder's end is certain before another begins, whatever clocks show. Never rejects: out of reach it is simply not held. */
export type Lease = {
  /** True while no other can hold it. Ask before each piece of work: it ends by itself when the server is out of reach. */
  readonly held: () => boolean
  /** Gives it up for good, so that another need not wait for its end. */
  readonly close: () => Promise<void>
}
