import type { AnyEvent } from '../events/define.ts'
import type { Actor } from '../events/meta.ts'
import type { At, Projection } from './projection.ts'

/**
 * Time (RFC 3339 UTC with milliseconds) and actor of the last change of a document or its parts. The actor is absent if
 * the event has none.
 */
export type LastChange = { readonly changedAt: string; readonly changedBy?: Actor }

/** Actor of an event; undefined if the metadata is damaged, because events are read by their data. */
const actorOf = (meta: string): Actor | undefined => {
  try {
    return (JSON.parse(meta) as { readonly actor?: Actor } | null)?.actor
  } catch {
    return undefined
  }
}

type Folds<D extends object, E extends AnyEvent> = Projection<D, E>['on']
/** Folds of a document that do not set its last change. */
type Unstamped<D extends object, E extends AnyEvent> = {
  readonly [K in E['type']]: (
    ...[doc, data, at]: Parameters<Folds<D, E>[K]>
  ) => D | Omit<D, keyof LastChange> | undefined
}
type Fold<D extends object> = (doc: D | undefined, data: unknown, at: At) => D | undefined

/** Folds that also set the last change of the document. Quiet events do not change it. */
export const stamped = <D extends LastChange, E extends AnyEvent>(
  quiet: ReadonlySet<string>,
  folds: Unstamped<D, E>,
): Folds<D, E> => {
  const stamp =
    (fold: Fold<D>): Fold<D> =>
    (doc, data, at) => {
      const next = fold(doc, data, at)
      if (!next) return undefined
      const changedBy = actorOf(at.meta)
      if (changedBy) return { ...next, changedAt: at.time, changedBy }
      const { changedBy: _before, ...rest } = next
      return { ...rest, changedAt: at.time } as D
    }
  const all = Object.entries(folds as unknown as Readonly<Record<string, Fold<D>>>)
  return Object.fromEntries(all.map(([type, fold]) => [type, quiet.has(type) ? fold : stamp(fold)])) as Folds<D, E>
}
