import { sentenceOf } from './changes.ts'
import { type Merged, same } from '../../parts/editing.ts'
import type { Draft, RolloutDraft } from './draft.ts'

type Fields = Readonly<Record<string, unknown>>

/** Each field as I have it where I changed it, else as they have it. */
const ofEach = <T extends Fields>(base: T, mine: T, theirs: T): T =>
  Object.fromEntries(
    Object.keys(theirs).map((name) => [name, same(base[name], mine[name]) ? theirs[name] : mine[name]]),
  ) as T

const mergedParts = (base: Draft, mine: Draft, theirs: Draft) => {
  const [was, mines] = [base, mine].map(({ rollouts }) => new Map(rollouts.map((part) => [part.id, part])))
  const left: string[] = []
  const there = new Set(theirs.rollouts.map(({ id }) => id))
  for (const part of mine.rollouts)
    if (was!.has(part.id) && !there.has(part.id) && !same(was!.get(part.id), part)) left.push(sentenceOf(part))
  const kept = theirs.rollouts
    .filter(({ id }) => !was!.has(id) || mines!.has(id))
    .map((part): RolloutDraft => {
      const [before, own] = [was!.get(part.id), mines!.get(part.id)]
      return before && own ? ofEach(before, own, part) : part
    })
  const fresh = mine.rollouts.filter(({ id }) => !was!.has(id))
  return { parts: [...kept, ...fresh], left }
}

/** Whether I moved parts about, besides adding at the end and deleting. */
const movedParts = (base: Draft, mine: Draft): boolean => {
  const [before, after] = [base, mine].map(({ rollouts }) => rollouts.map(({ id }) => id))
  const stay = before!.filter((id) => after!.includes(id))
  return !same([...stay, ...after!.filter((id) => !before!.includes(id))], after)
}

/** My changes on top of the present state. */
export const merge = (base: Draft, mine: Draft, theirs: Draft): Merged<Draft> => {
  const { parts, left } = mergedParts(base, mine, theirs)
  const order = mine.rollouts.map(({ id }) => id)
  const place = ({ id }: RolloutDraft) => {
    const at = order.indexOf(id)
    return at < 0 ? order.length : at
  }
  const rollouts = movedParts(base, mine) ? parts.toSorted((a, b) => place(a) - place(b)) : parts
  return { draft: { ...ofEach(base, mine, theirs), rollouts }, left }
}
