import { same } from './editing.ts'

type Fields = Readonly<Record<string, unknown>>
type Identified = { readonly id: string }
type Part = Fields & Identified
/** Parts of a three-way merge. */
export type Three<P> = { readonly base: readonly P[]; readonly mine: readonly P[]; readonly theirs: readonly P[] }

/** Indexes parts by id. */
export const byId = <P extends Identified>(parts: readonly P[]): ReadonlyMap<string, P> =>
  new Map(parts.map((part) => [part.id, part]))

/** Three-way merge by field: the own value if it was changed, else theirs. */
export const ofEach = <T extends Fields>(base: T, mine: T, theirs: T): T =>
  Object.fromEntries(
    Object.keys(theirs).map((name) => [name, same(base[name], mine[name]) ? theirs[name] : mine[name]]),
  ) as T

/** Whether parts were reordered; additions at the end and deletions do not count. */
export const isMoved = (base: readonly Identified[], mine: readonly Identified[]): boolean => {
  const [before, after] = [byId(base), byId(mine)]
  const ids = [...before.keys()].filter((id) => after.has(id))
  return !same([...ids, ...[...after.keys()].filter((id) => !before.has(id))], [...after.keys()])
}

/**
 * Three-way merge of parts: theirs with the own changes, without the ones deleted here, plus the ones added here. The
 * own order wins if it was changed.
 */
export const mergedParts = <P extends Part>({ base, mine, theirs }: Three<P>): readonly P[] => {
  const [was, mines] = [byId(base), byId(mine)]
  const kept = theirs
    .filter(({ id }) => !was.has(id) || mines.has(id))
    .map((part) => {
      const [before, own] = [was.get(part.id), mines.get(part.id)]
      return before && own ? ofEach(before, own, part) : part
    })
  const parts = [...kept, ...mine.filter(({ id }) => !was.has(id))]
  const order = mine.map(({ id }) => id)
  const place = ({ id }: P) => (order.includes(id) ? order.indexOf(id) : order.length)
  return isMoved(base, mine) ? parts.toSorted((a, b) => place(a) - place(b)) : parts
}

/** Own changes of parts that the other side deleted. */
export const changedInVain = <P extends Part>({ base, mine, theirs }: Three<P>): readonly P[] => {
  const [was, there] = [byId(base), byId(theirs)]
  return mine.filter((part) => was.has(part.id) && !there.has(part.id) && !same(was.get(part.id), part))
}
