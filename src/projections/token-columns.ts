/** Facts of tokens in columns of typed arrays, a slot each, that grow as they fill; a slot given back is used again. `expires` is NaN where a slot holds nothing. */
export const tokenColumns = () => {
  const free: number[] = []
  let room = 1024
  const columns = {
    expires: new Float64Array(room),
    kinds: new Uint8Array(room),
    scopes: new Uint32Array(room),
    /** Of a static token, the number of its maker. */
    madeBy: new Uint32Array(room),
    ids: new Uint8Array(room * 16),
  }
  let size = 0

  const grow = () => {
    room *= 2
    const { expires, kinds, scopes, madeBy, ids } = columns
    columns.expires = new Float64Array(room)
    columns.expires.set(expires)
    columns.kinds = new Uint8Array(room)
    columns.kinds.set(kinds)
    columns.scopes = new Uint32Array(room)
    columns.scopes.set(scopes)
    columns.madeBy = new Uint32Array(room)
    columns.madeBy.set(madeBy)
    columns.ids = new Uint8Array(room * 16)
    columns.ids.set(ids)
  }

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
    /** How many slots there are, those that hold nothing included. */
    size: (): number => size,
    setId: (slot: number, id: string): void => columns.ids.set(Buffer.from(id.replaceAll('-', ''), 'hex'), slot * 16),
    id: (slot: number): string =>
      Buffer.from(columns.ids.buffer, slot * 16, 16)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  }
}

/** Texts by small numbers, given in the order they are met; 0 is no text. */
export const numberedTexts = () => {
  const texts: (string | undefined)[] = [undefined]
  const numbers = new Map<string, number>()
  return {
    numberOf: (text: string | undefined): number => {
      if (text === undefined) return 0
      const known = numbers.get(text)
      if (known !== undefined) return known
      numbers.set(text, texts.length)
      return texts.push(text) - 1
    },
    text: (number: number): string | undefined => texts[number],
  }
}
