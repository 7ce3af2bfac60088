type ColumnCopies = {
  readonly expires: Float64Array
  readonly kinds: Uint8Array
  readonly revisions: Uint16Array
  readonly reaches: Uint32Array
  readonly policies: Uint32Array
  readonly madeBy: Uint32Array
}

/** Maximum number of recently used slots that one search for a victim skips. */
const MAX_SECOND_CHANCES = 64

/** Columns for `room` slots. */
const emptyColumns = (room: number) => ({
  expires: new Float64Array(room),
  kinds: new Uint8Array(room),
  /** Reference bit of the CLOCK algorithm. */
  referenced: new Uint8Array(room),
  /** Revision of the last known event, up to the maximum of 16 bits. */
  revisions: new Uint16Array(room),
  /** Number of the reach. */
  reaches: new Uint32Array(room),
  /** Number of the access configuration of its grants + 1; 0 if none. */
  policies: new Uint32Array(room),
  /** Number of the credential that created the token, for static tokens. */
  madeBy: new Uint32Array(room),
})

/**
 * Facts of tokens in growing columns of typed arrays, one slot per token. Free slots are reused; their `expires` is
 * NaN.
 */
export const tokenColumns = () => {
  const free: number[] = []
  let room = 1024
  const columns = emptyColumns(room)
  let size = 0

  const grow = () => {
    room *= 2
    const before = { ...columns }
    Object.assign(columns, emptyColumns(room))
    for (const [name, column] of Object.entries(before)) columns[name as keyof typeof columns].set(column)
  }
  const isFree = (slot: number): boolean => Number.isNaN(columns.expires[slot])
  let hand = 0

  return {
    columns,
    /** Returns a free slot. */
    take: (): number => {
      const slot = free.pop() ?? size++
      if (slot >= room) grow()
      return slot
    },
    giveBack: (slot: number): void => {
      columns.expires[slot] = Number.NaN
      free.push(slot)
    },
    /**
     * Returns a slot to evict, by the CLOCK algorithm with at most `MAX_SECOND_CHANCES` second chances; undefined if
     * `may` accepts none.
     */
    victim: (may: (slot: number) => boolean = () => true): number | undefined => {
      for (let [chances, steps] = [MAX_SECOND_CHANCES, 2 * size]; steps > 0; hand++, steps--) {
        if (hand >= size) hand = 0
        if (isFree(hand) || !may(hand)) continue
        if (columns.referenced[hand] === 0 || chances-- === 0) return hand++
        columns.referenced[hand] = 0
      }
      return undefined
    },
    /** Number of slots, including free ones. */
    size: (): number => size,
    /** Copies the columns. */
    copy: () => ({
      expires: columns.expires.slice(0, size),
      kinds: columns.kinds.slice(0, size),
      revisions: columns.revisions.slice(0, size),
      reaches: columns.reaches.slice(0, size),
      policies: columns.policies.slice(0, size),
      madeBy: columns.madeBy.slice(0, size),
    }),
    /** Restores a copy into empty columns. */
    restore: (from: ColumnCopies): void => {
      while (room < from.expires.length) grow()
      columns.expires.set(from.expires)
      columns.kinds.set(from.kinds)
      columns.revisions.set(from.revisions)
      columns.reaches.set(from.reaches)
      columns.policies.set(from.policies)
      columns.madeBy.set(from.madeBy)
      size = from.expires.length
      for (let slot = 0; slot < size; slot++) if (isFree(slot)) free.push(slot)
    },
  }
}
