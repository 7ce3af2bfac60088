/** Ids of the parts that a request makes: by the refs that it gives them, and one for each place. */
export const temporaryIds = (newId: (word: string) => string) => {
  const known = new Map<string, string>()
  return {
    /** The id that a ref stands for; any other text is an id itself. */
    idOf: (text: string): string => known.get(text) ?? text,
    /** The id of what is made at this place, from here on also by its ref. */
    made: (place: string, ref = ''): string => {
      const id = newId(place)
      if (ref !== '') known.set(ref, id)
      return id
    },
    all: (): Readonly<Record<string, string>> => Object.fromEntries(known),
  }
}
export type TemporaryIds = ReturnType<typeof temporaryIds>
