/** Ids of the new parts in a request: by the references of the client, and one for each other new part. */
export const temporaryIds = (newId: (word: string) => string) => {
  const known = new Map<string, string>()
  return {
    /** Id of a reference; any other text is an id itself. */
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
