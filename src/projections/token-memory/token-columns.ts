type ColumnCopies = {
  readonly expires: Float64Array
  readonly kinds: Uint8Array
  readonly revisions: Uint16Array
  readonly reaches: Uint32Array
  readonly policies: Uint32Array
  readonly madeBy: Uint32Array
}

/** Slots in a row that are spared because they were used. */
const MAX_SECOND_CHANCES = 64

/** Columns for `room` slots. */
const emptyColumns = (room: number) => ({
  expires: new Float64Array(room),
  kinds: new Uint8Array(room),
  /** Whether the token was asked for since the hand last came by. */
  referenced: new Uint8Array(room),
  /** Revision of the last event that is known, as far as it fits. */
  revisions: new Uint16Array(room),
  /** The number of what it may do. */
  reaches: new Uint32Array(room),
  /** The configuration of access that its grants are of, counted from 1; 0: of none. */
  policies: new Uint32Array(room),
  /** Of a static token, the number of its maker. */
  madeBy: new Uint32Array(room),
})

/** Facts of tokens in columns of typed arrays, a slot each, that grow as they fill; a slot given back is used again. `expires` is NaN where a slot holds nothing. */
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
    /** A slot that holds nothing. */
    take: (): number => {
      const slot = free.pop() ?? size++
      if (slot >= room) grow()
      return slot
    },
    giveBack: (slot: number): void => {
      columns.expires[slot] = Number.NaN
      free.push(slot)
    },
    /** A slot to be given up for another, round after round, one that was used since the last round only where many in a row were; undefined where none may be. */
    victim: (may: (slot: number) => boolean = () => true): number | undefined => {
      for (let [chances, steps] = [MAX_SECOND_CHANCES, 2 * size]; steps > 0; hand++, steps--) {
        if (hand >= size) hand = 0
        if (isFree(hand) || !may(hand)) continue
        if (columns.referenced[hand] === 0 || chances-- === 0) return hand++
        columns.referenced[hand] = 0
      }
      return undefined
    },
    /** How many slots there are, those that hold nothing included. */
    size: (): number => size,
    /** A copy of the columns. */
    copy: () => ({
      expires: columns.expires.slice(0, size),
      kinds: columns.kinds.slice(0, size),
      revisions: columns.revisions.slice(0, size),
      reaches: columns.reaches.slice(0, size),
      policies: columns.policies.slice(0, size),
      madeBy: columns.madeBy.slice(0, size),
    }),
    /** Takes a copy in place of what there was, which was nothing. */
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
