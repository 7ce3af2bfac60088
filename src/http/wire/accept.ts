/**
 * Form of the first media type in an `Accept` header that the route offers; undefined if it offers none of them.
 * Parameters, weights included, do not count (api.md §16.5).
 */
export const acceptedForm = <F>(accept: string | undefined, offered: ReadonlyMap<string, F>): F | undefined => {
  for (const range of accept?.split(',') ?? []) {
    const form = offered.get(range.split(';', 1)[0]!.trim().toLowerCase())
    if (form !== undefined) return form
  }
  return undefined
}
