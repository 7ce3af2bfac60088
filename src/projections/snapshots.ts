/**
 * PORT. Keeps one snapshot of what memory held, in place of the one before in one step. Bytes come back as they were written, or not at
 * all, as far as the store can tell; whether they are to be believed is for who reads them. Failure: any error.
 */
export type Snapshots = {
  readonly read: () => Promise<Uint8Array | undefined>
  readonly write: (parts: AsyncIterable<Uint8Array>) => Promise<void>
  readonly remove: () => Promise<void>
}
