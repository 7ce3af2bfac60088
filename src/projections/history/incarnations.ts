import type { AnyEvent, DataOf } from '../../events/define.ts'
import { flags } from '../flags.ts'
import { namespaces } from '../namespaces.ts'
import { anyProjection, orderOf, type Projection } from '../projection.ts'
import { segments } from '../segments.ts'

/** One life of a document's key: positions of the events that began and ended it, its place in lists, and the life of its namespace. */
export type Incarnation = {
  readonly order: string
  readonly incarnation: string
  readonly began: number
  readonly ended?: number
}
/** The lives of a key, oldest first. `since`: before this position there were others, which are not kept. */
export type IncarnationsDoc = { readonly lives: readonly Incarnation[]; readonly since?: number }

/** Lives kept of one key, so that a key which is made and deleted for ever costs no more each time. */
const KEPT = 32

const begun = (doc: IncarnationsDoc | undefined, life: Incarnation): IncarnationsDoc => {
  const all = [...(doc?.lives ?? []), life]
  return all.length <= KEPT ? { ...doc, lives: all } : { lives: all.slice(1), since: all[1]!.began }
}

const ended = (doc: IncarnationsDoc | undefined, position: number): IncarnationsDoc | undefined => {
  const last = doc?.lives.at(-1)
  return last && { ...doc, lives: [...doc!.lives.slice(0, -1), { ...last, ended: position }] }
}

type Begin = { readonly incarnation: string }

/** The lives of the keys of a read model, of two of its events; all others leave them as they are. */
const incarnationsOf = <D extends object, E extends AnyEvent>(
  { name, category, read, on }: Projection<D, E>,
  begins: E['type'],
  ends: E['type'],
): Projection<IncarnationsDoc, E> => {
  const quiet = (Object.keys(on) as E['type'][]).filter((type) => type !== begins && type !== ends)
  const same = (doc: IncarnationsDoc | undefined) => doc
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
      [begins]: (doc: IncarnationsDoc | undefined, data: DataOf<E, E['type']>, at: Parameters<typeof orderOf>[0]) => {
        const { incarnation } = data as unknown as Begin
        return begun(doc, { order: orderOf(at), incarnation, began: Number(at.position) })
      },
      [ends]: (doc: IncarnationsDoc | undefined, _: unknown, { position }: { readonly position: bigint }) =>
        ended(doc, Number(position)),
    } as unknown as Projection<IncarnationsDoc, E>['on'],
  }
}

export const namespaceIncarnations = incarnationsOf(namespaces, 'NamespaceCreated', 'NamespaceDeleted')
export const flagIncarnations = incarnationsOf(flags, 'FlagCreated', 'FlagDeleted')
export const segmentIncarnations = incarnationsOf(segments, 'SegmentCreated', 'SegmentDeleted')

/** When what lists hold was there. */
export const lives = [
  anyProjection(namespaceIncarnations),
  anyProjection(flagIncarnations),
  anyProjection(segmentIncarnations),
]
