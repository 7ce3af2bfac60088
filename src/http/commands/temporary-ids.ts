/** Ids of the new parts of a request: by the refs of the client, and one per place. */
export const temporaryIds = (newId: (word: string) => string) => {
  const known = new Map<string, string>()
  return {
    /** Id of a ref; any other text is an id itself. */
    idOf: (text: string): string => known.get(text) ?? text,
    /** Creates the id of a part at this place, and registers its ref. */
    made: (place: string, ref = ''): string => {
      const id = newId(place)
      if (ref !== '') known.set(ref, id)
      return id
    },
    all: (): Readonly<Record<string, string>> => Object.fromEntries(known),
  }
}
export type TemporaryIds = ReturnType<typeof temporaryIds>
