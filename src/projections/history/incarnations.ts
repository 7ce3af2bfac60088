import type { AnyEvent, DataOf } from '../../events/define.ts'
import { flags } from '../flags.ts'
import { namespaces } from '../namespaces.ts'
import { anyProjection, orderOf, type Projection } from '../projection.ts'
import { segments } from '../segments.ts'

/**
 * One incarnation of the key of a document. `began` and `ended`: positions of its first and last event; `order`: sort
 * key in lists; `incarnation`: that of its namespace.
 */
export type Incarnation = {
  readonly order: string
  readonly incarnation: string
  readonly began: number
  readonly ended?: number
}
/** Incarnations of a key, oldest first. `since`: incarnations that began before this position are not stored. */
export type IncarnationsDoc = { readonly lives: readonly Incarnation[]; readonly since?: number }

/** Maximum stored incarnations per key, so that repeated creation and deletion has a bounded cost. */
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

/**
 * Read model of the incarnations of the keys of another read model, from two of its events. All other events change
 * nothing in this read model.
 */
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

/** Read models of the incarnations of all keys in lists. */
export const lives = [
  anyProjection(namespaceIncarnations),
  anyProjection(flagIncarnations),
  anyProjection(segmentIncarnations),
]
