/** Number of flags and segments of one incarnation of a namespace, and their size as JSON in UTF-8. */
export type Tally = { readonly flags: number; readonly segments: number; readonly bytes: number }

type CountedKind = 'flags' | 'segments'
type Doc = { readonly incarnation: string }

const nothing: Tally = { flags: 0, segments: 0, bytes: 0 }

/** Precomputed totals by incarnation, so that reading one is free. */
export const tallies = () => {
  const lives = new Map<string, Tally>()
  const sizes = new Map<string, number>()

  const add = (kind: CountedKind, incarnation: string, count: 1 | -1, bytes: number) => {
    const before = lives.get(incarnation) ?? nothing
    const after = { ...before, [kind]: before[kind] + count, bytes: before.bytes + bytes }
    if (after.flags + after.segments > 0) lives.set(incarnation, after)
    else lives.delete(incarnation)
  }

  return {
    of: (incarnation: string | undefined): Tally => lives.get(incarnation ?? '') ?? nothing,
    /** Size of one document, by kind and key; 0 if there is none. */
    bytes: (kind: CountedKind, key: string): number => sizes.get(`${kind} ${key}`) ?? 0,
    /** Updates the totals by the change of one document from `from` to `to`. */
    step: (kind: CountedKind, key: string, from: Doc | undefined, to: Doc | undefined): void => {
      if (from === to) return
      const name = `${kind} ${key}`
      if (from) add(kind, from.incarnation, -1, -sizes.get(name)!)
      sizes.delete(name)
      if (!to) return
      const bytes = Buffer.byteLength(JSON.stringify(to))
      sizes.set(name, bytes)
      add(kind, to.incarnation, 1, bytes)
    },
  }
}
