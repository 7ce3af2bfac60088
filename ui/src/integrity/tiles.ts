/** Hashes of a full tile, and entries of a full bundle. */
export const TILE_WIDTH = 256

/** Number of leaves under the tile with this index in a tree of `size` leaves: 0 to 256. */
export const widthOf = (index: number, size: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, size - index * TILE_WIDTH))

/** Returns the path of a tile of the leaves, or of a bundle of entries (C2SP tlog-tiles): `tile/0/x001/067.p/3`. */
export const tilePath = (level: '0' | 'entries', index: number, width: number): string => {
  const digits = String(index)
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), '0').replace(/\d{3}(?=\d)/g, 'x$&/')
  return `tile/${level}/${groups}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Returns the entries of a bundle, each after its length as big-endian uint16. A bundle that is cut off ends early. */
export const entriesIn = (bundle: Uint8Array): readonly Uint8Array[] => {
  const entries: Uint8Array[] = []
  for (let at = 0; at + 2 <= bundle.length; ) {
    const end = at + 2 + bundle[at]! * 256 + bundle[at + 1]!
    if (end > bundle.length) break
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}
