import type { AnyEvent, DataOf } from '../../events/define.ts'
import { flags } from '../flags.ts'
import { namespaces } from '../namespaces.ts'
import { anyProjection, orderOf, type Projection } from '../projection.ts'
import { segments } from '../segments.ts'

/** One life of a document's key: positions of the events that began and ended it, its place in lists, and the life of its namespace. */
export type Life = {
  readonly order: string
  readonly incarnation: string
  readonly began: number
  readonly ended?: number
}
/** The lives of a key, oldest first. `since`: before this position there were others, which are not kept. */
export type LivesDoc = { readonly lives: readonly Life[]; readonly since?: number }

/** Lives kept of one key, so that a key which is made and deleted for ever costs no more each time. */
const KEPT = 32

const begun = (doc: LivesDoc | undefined, life: Life): LivesDoc => {
  const all = [...(doc?.lives ?? []), life]
  return all.length <= KEPT ? { ...doc, lives: all } : { lives: all.slice(1), since: all[1]!.began }
}

const ended = (doc: LivesDoc | undefined, position: number): LivesDoc | undefined => {
  const last = doc?.lives.at(-1)
  return last && { ...doc, lives: [...doc!.lives.slice(0, -1), { ...last, ended: position }] }
}

type Begin = { readonly incarnation: string }

/** The lives of the keys of a read model, of two of its events; all others leave them as they are. */
const livesOf = <D extends object, E extends AnyEvent>(
  { name, category, read, on }: Projection<D, E>,
  begins: E['type'],
  ends: E['type'],
): Projection<LivesDoc, E> => {
  const quiet = (Object.keys(on) as E['type'][]).filter((type) => type !== begins && type !== ends)
  const same = (doc: LivesDoc | undefined) => doc
  return {
    name: `${name}_lives`,
    version: 2,
    fields: [],
    indexes: [],
    category,
    read,
    quiet: new Set(quiet),
    on: {
      ...Object.fromEntries(quiet.map((type) => [type, same])),
      [begins]: (doc: LivesDoc | undefined, data: DataOf<E, E['type']>, at: Parameters<typeof orderOf>[0]) => {
        const { incarnation } = data as unknown as Begin
        return begun(doc, { order: orderOf(at), incarnation, began: Number(at.position) })
      },
      [ends]: (doc: LivesDoc | undefined, _: unknown, { position }: { readonly position: bigint }) =>
        ended(doc, Number(position)),
    } as unknown as Projection<LivesDoc, E>['on'],
  }
}

export const namespaceLives = livesOf(namespaces, 'NamespaceCreated', 'NamespaceDeleted')
export const flagLives = livesOf(flags, 'FlagCreated', 'FlagDeleted')
export const segmentLives = livesOf(segments, 'SegmentCreated', 'SegmentDeleted')

/** When what lists hold was there. */
export const lives = [anyProjection(namespaceLives), anyProjection(flagLives), anyProjection(segmentLives)]
