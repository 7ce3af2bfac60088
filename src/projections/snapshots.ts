/**
 * PORT. Stores one snapshot of memory, and replaces it atomically. A read returns the bytes as written, or fails if the
 * store detects a difference; the reader verifies them. Failure: any error.
 */
export type Snapshots = {
  readonly read: () => Promise<Uint8Array | undefined>
  readonly write: (parts: AsyncIterable<Uint8Array>) => Promise<void>
  readonly remove: () => Promise<void>
}
