/**
 * Ids of the new parts in a request. A part with a reference has one id for all uses of the reference; each part
 * without a reference has its own id.
 */
export const temporaryIds = (newId: (word: string) => string) => {
  const known = new Map<string, string>()
  return {
    /** Returns the id of a reference; a text that is no reference is returned unchanged, because it is an id. */
    idOf: (text: string): string => known.get(text) ?? text,
    /** Creates the id of the part at this index of the request, and registers its reference. */
    made: (place: string, ref = ''): string => {
      const id = newId(place)
      if (ref !== '') known.set(ref, id)
      return id
    },
    all: (): Readonly<Record<string, string>> => Object.fromEntries(known),
  }
}
export type TemporaryIds = ReturnType<typeof temporaryIds>
